import random

import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import LikelySecretRecogniser
from discreet.redaction.recognisers.told.likely import models
from discreet.redaction.recognisers.told.likely_numbers import MOST_NEAR

REDACTOR = Redactor(recognisers=[LikelySecretRecogniser()])
CHANCE = random.Random("codes")


def code(digits):
    """Return digits that nobody knows by heart: neither a year nor a round number."""
    return "".join(CHANCE.choices("356789", k=digits))


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("for the front door you press {} and then the bell", 4),
        ("the alarm panel wants {}, be quick", 4),
        ("they texted me {} to verify the login", 6),
        ("bank app sms says {}, don't share it", 6),
        ("the safe opens with {}", 4),
        ("cửa chung cư bấm {} là mở", 4),
        ("zalo nhắn {} để xác nhận đăng nhập", 6),
        ("домофон: набираешь {} и заходишь", 4),
        ("смс от банка, там {}, никому не говори", 6),
        ("手机收到{}，是银行的验证短信", 6),
        ("an der Haustür {} eintippen", 4),
        ("pour l'alarme tu tapes {} au clavier", 4),
        ("para abrir la puerta marca {}", 4),
    ],
)
def test_codes_are_found_by_what_stands_around_them(text, digits):
    value = code(digits)
    assert REDACTOR.redact(text.format(value)) == text.format("<SECRET>")


@pytest.mark.parametrize(
    "text",
    [
        "the wifi at grandma's, you just type {}",
        "log in to netflix with {}",
        "wifi nhà em thì gõ {} là vô",
        "вайфай: введи {} и всё",
    ],
)
@pytest.mark.parametrize("value", ["sunshine4821", "marble-lantern-cookie"])
def test_passwords_are_found_by_what_stands_around_them(text, value):
    assert REDACTOR.redact(text.format(value)) == text.format("<SECRET>")


@pytest.mark.parametrize(
    "text",
    [
        "the door is 2100 mm high",
        "the door cost 4500 euros",
        "in 1998 we changed the alarm",
        "the alarm rang at 6:30, 1200 people heard it",
        "room 4821, second door on the left",
        "bus 4821 stops at the door",
        "error 4821 in the banking app",
        "order 482113 arrives by sms",
        "the login page has 4821 users",
        "the safe weighs 4821 kg",
        "cửa hàng bán 4821 cái",
        "đơn 482113 đã giao, có tin nhắn",
        "дверь стоит 4821 рублей",
        "заказ 482113 придёт завтра",
        "门票4821元",
        "2048 bits for the key",
        "connect to wifi with windows11",
        "log in to netflix on chrome120",
        "the port is 8080 and the login works",
        "1234 is a bad pin",
        "4821 * 2 = 9642",
        "the pass is in the office, Copyright 1998-2001 by Secret Labs",
        "User: my peanut allergy",
        "User: the monkey at the zoo took it",
        "User: what a sunshine\nAssistant: Shall we go out?",
    ],
)
def test_numbers_and_names_of_other_things_stay(text):
    assert REDACTOR.redact(text) == text


def test_a_text_full_of_numbers_is_a_table():
    codes = " or ".join(code(4) for _ in range(MOST_NEAR + 1))
    text = f"the alarm panel wants {codes}, be quick"
    assert REDACTOR.redact(text) == text


def test_a_model_weighs_each_figure_once():
    for model in models().values():
        nothing = [0.0] * len(model.weights)
        assert model.accepts(nothing) is (model.bias > model.threshold)
        for place, weight in enumerate(model.weights):
            figures = [
                *nothing[:place],
                (model.threshold - model.bias + 1) / weight if weight else 0.0,
                *nothing[place + 1 :],
            ]
            assert model.accepts(figures) is (weight != 0 or model.bias > model.threshold)

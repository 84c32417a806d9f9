import base64
import uuid

import pytest

from discreet.redaction import Redactor
from discreet.scanning.inspecting import Inspector
from discreet.scanning.messages import ENCRYPTED, MEDIA, PICKLES
from discreet.scanning.texts import NOTHING, Texts, number_text
from discreet.scanning.values import decode_typed
from discreet.scanning.values.msgpack import pack

MAIL, CARD = "ann@example.com", "4111 1111 1111 1111"
PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8).decode()


@pytest.fixture
def texts():
    return Texts(Redactor(placeholder_key=bytes(32)))


class CountingRedactor(Redactor):
    """Counts what it is asked."""

    asked = 0

    def findings(self, text):
        self.asked += 1
        return super().findings(text)


def test_values_are_found_and_replaced(texts):
    text = f"Write to {MAIL}, pay with {CARD}."
    assert texts.find(text).types == ("EMAIL", "CARD")
    made = texts.redact(text)
    assert made == "Write to <EMAIL>, pay with <CARD>."
    assert texts.find(made) == NOTHING


def test_placeholders_of_a_thread_are_tagged(texts):
    thread = Redactor(placeholder_key=bytes(32)).for_thread("t")
    made = texts.redact(f"{MAIL} and {MAIL}", thread=thread)
    first, second = made.split(" and ")
    assert first == second
    assert first.startswith("<EMAIL:")
    assert texts.find(made) == NOTHING


def test_a_value_is_told_by_its_name(texts):
    assert texts.find("Xk93Tq!7", "password").types == ("SECRET",)
    assert texts.find("sunshine42", "title") == NOTHING
    assert texts.redact("Xk93Tq!7", "password") == "<SECRET>"


def test_what_was_searched_is_not_searched_again():
    redactor = CountingRedactor()
    texts = Texts(redactor, known=4)
    for _ in range(3):
        texts.find(f"Write to {MAIL}.")
    assert redactor.asked == 1
    for number in range(10):
        texts.find(f"number {number}")
    assert texts.find(f"Write to {MAIL}.").types == ("EMAIL",)
    assert redactor.asked == 12


@pytest.mark.parametrize(
    ("text", "name", "media"),
    [
        (f"data:image/png;base64,{PICTURE}", None, 1),
        (PICTURE, "base64", 1),
        ("a short text", "title", 0),
    ],
)
def test_media_are_counted_and_replaced(texts, text, name, media):
    assert texts.find(text, name).media == media
    assert (texts.redact(text, name) == "<BYTES>") is bool(media)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (str(uuid.UUID(int=5, version=4)), None),
        ("00000000000000000000000000000003.0.4179", "version"),
        ("00000000000000000000000000000003.0.4179", "api_key"),  # a channel of that name
        (f"clerk:{uuid.UUID(int=7, version=4)}", None),
        ("d41d8cd98f00b204e9800998ecf8427e", "hash"),
        ("lc_run--" + str(uuid.UUID(int=5, version=4)), "id"),
    ],
)
def test_ids_of_engines_are_no_values(texts, text, name):
    assert texts.find(text, name) == NOTHING


@pytest.mark.parametrize(
    ("text", "name"), [(MAIL, "id"), (MAIL, "hash"), (CARD, "run_id"), ("+84 91 234 5678", "id"), (MAIL, None)]
)
def test_values_in_the_place_of_ids_are_values(texts, text, name):
    assert texts.find(text, name).types


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (4111111111111111, "4111111111111111"),
        (4111111111111111.0, "4111111111111111"),
        (12, None),
        (1.5, None),
        (float("inf"), None),
        (float("nan"), None),
        (10**40, None),
        (-84912345678, "-84912345678"),
    ],
)
def test_numbers_with_enough_digits_are_texts(number, text):
    assert number_text(number) == text


@pytest.mark.parametrize("text", ["", "abc", "a\0b", "lone \ud800 surrogate"])
def test_texts_without_values_are_storable(texts, text):
    assert isinstance(texts.redact(text).encode(), bytes)


def seen(value, kind="msgpack"):
    data = pack(value) if kind == "msgpack" else value
    found = Inspector(Texts(Redactor())).look(data, kind=kind)
    return dict(found.types), dict(found.kinds), found.errors


def test_values_are_found_wherever_they_stand():
    inner = b'{"reply_to": "ann@example.com"}'
    value = {"mail": MAIL, MAIL: [MAIL, {"a": (MAIL,)}], "raw": MAIL.encode(), "nested": inner, "pair": ["json", inner]}
    assert seen(value) == ({"EMAIL": 7}, {}, [])


def test_numbers_and_keys_are_looked_at():
    assert seen({"card": 4111111111111111, 4111111111111111: 1, "small": 7}) == ({"CARD": 2}, {}, [])


def test_what_is_encrypted_or_pickled_is_told():
    import pickle

    assert seen(b"\x00\x01", "msgpack+aes") == ({}, {ENCRYPTED: 1}, [])
    assert seen(pickle.dumps({"mail": MAIL}), "pickle") == ({"EMAIL": 1}, {PICKLES: 1}, [])


def test_a_damaged_value_is_searched_as_text():
    types, _, errors = seen(pack({"text": f"Please write to {MAIL} today", "more": "x" * 40})[:-10] + b"", "json")
    assert (types, errors) == ({"EMAIL": 1}, ["no whole JSON"])


def test_media_in_bytes_are_counted():
    assert seen({"picture": base64.b64decode(PICTURE)}) == ({}, {MEDIA: 1}, [])


def test_a_secret_of_pydantic_is_counted_once_it_has_one():
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
    from pydantic import SecretStr

    for text, types in (("anything at all", {"SECRET": 1}), ("", {})):
        kind, data = JsonPlusSerializer().dumps_typed({"key": SecretStr(text)})
        assert decode_typed(kind, data).form == "msgpack"
        assert seen(data, kind)[0] == types


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("customer", ".customer.mail"),
        ("địa_chỉ", ".địa_chỉ.mail"),
        ("адрес", ".адрес.mail"),
        ("地址2", ".地址2.mail"),
        ("thread-6-3", ".*.mail"),
        ("user_4711", ".*.mail"),
        ("Ann Lindqvist", ".*.mail"),
        (str(uuid.UUID(int=5, version=4)), ".*.mail"),
        ("x" * 41, ".*.mail"),
        (CARD, ".<CARD>.mail"),
        (MAIL, ".<EMAIL>.mail"),
        (7, ".*.mail"),
    ],
)
def test_places_are_named_by_fields_and_never_by_ids_or_values(key, named):
    places = Inspector(Texts(Redactor())).look(pack({key: {"mail": MAIL}}), kind="msgpack").places
    assert places[named, "EMAIL"] == 1
    assert sum(places.values()) == (1 if key not in (CARD, MAIL) else 2)


def test_places_say_which_values_stand_in_lists_and_in_keys():
    data = pack({"to": [{"mail": MAIL}, {"mail": MAIL}], "by": {MAIL: 1}})
    found = Inspector(Texts(Redactor())).look(data, kind="msgpack", channel="notes").places
    assert found == {(".notes.to[].mail", "EMAIL"): 2, (".notes.by{}", "EMAIL"): 1}

import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import EmailRecogniser

REDACTOR = Redactor(recognisers=[EmailRecogniser()])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # RFC 5322 forms
        ("write to ann.b+shop@mail.example.co.uk.", "write to <EMAIL>."),
        ("<ann@example.com>", "<<EMAIL>>"),
        ("ann@example.com,bob@example.org;x", "<EMAIL>,<EMAIL>;x"),
        ("mailto:ann@example.com?subject=hi", "mailto:<EMAIL>?subject=hi"),
        ("_ann@example.com_", "<EMAIL>_"),
        ("'o'neil@example.com'", "'<EMAIL>'"),
        # beside letters that are no ASCII ones: word boundaries fail there
        ("信箱test@example.com謝謝", "信箱<EMAIL>謝謝"),
        ("номерann@example.comзапомни", "номер<EMAIL>запомни"),
        # internationalised addresses: RFC 6531
        ("lê.thị.hoa@gmail.com nhé", "<EMAIL> nhé"),
        ("le\u0302.hoa@gmail.com", "<EMAIL>"),
        ("艳.周23@zoho.com", "<EMAIL>"),
        ("王小明@例子.中国", "<EMAIL>"),
        ("иван.петров@почта.рф", "<EMAIL>"),
        ("ann@xn--e1aybc.xn--p1ai", "<EMAIL>"),
        # full-width forms
        ("ann＠example．com", "<EMAIL>"),
    ],
)
def test_addresses_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "the function foo@bar is a decorator",
        "ping @alice_w on #general",
        "numpy@1.26.4 and lodash@4.17.21",
        "root@localhost",
        "3 apples @ 2.50 each",
        "https://user:" + "x" * 8 + "@host.example.com",  # a password, which another recogniser finds
    ],
)
def test_other_at_signs_stay(text):
    assert REDACTOR.redact(text) == text

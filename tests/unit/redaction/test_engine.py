import copy
import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from discreet.redaction import Finding, Redactor, clean_texts, redact
from discreet.redaction.clean_texts import CleanTexts, digest_of

REDACTOR = Redactor()
ANY_TEXT = st.text(st.characters(exclude_categories=()))
"""All of Unicode: NUL, lone surrogates and unassigned characters too."""

FRAGMENTS = [
    "ann@example.com",
    "信箱",
    "0912345678",
    "+84 912 345 678",
    "4111 1111 1111 1111",
    "4",
    " 1",
    "password=",
    "my password is ",
    "пароль ",
    "密碼",
    "Bearer ",
    "a1B2c3D4e5F6g7H8",
    "sk-" + "a" * 24,
    "eyJ" + "a1" * 6,
    "://u:",
    "@",
    "-----" + "BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "<EMAIL>",
    "<SECRET>",
    "<",
    ">",
    "'",
    '"',
    ".",
    ",",
    "=",
    ":",
    "&",
    "-",
    " ",
    "\n",
    "\0",
    "\ud83d",
    "\ude00",
]


def redacted_count(kind: str) -> float:
    return REGISTRY.get_sample_value("discreet_redactions_total", {"type": kind}) or 0.0


def test_a_message_keeps_everything_but_its_values():
    text = "Tôi là Lan, email lan.anh@gmail.com, gọi 0912 345 678 lúc 12:30 ngày 17/05/2024."
    assert redact(text) == "Tôi là Lan, email <EMAIL>, gọi <PHONE> lúc 12:30 ngày 17/05/2024."


@pytest.mark.slow
@given(st.one_of(ANY_TEXT, st.lists(st.one_of(st.sampled_from(FRAGMENTS), ANY_TEXT), max_size=12).map("".join)))
def test_redaction_is_idempotent_and_storable_for_every_text(text):
    once = REDACTOR.redact(text)
    assert REDACTOR.redact(once) == once
    assert "\0" not in once
    once.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\0nn@exam\0ple.com", "<EMAIL>"),
        ("\ud800 and \udfff", "\ufffd and \ufffd"),
        ("\ud83d\ude00", "😀"),
        ("", ""),
    ],
)
def test_text_becomes_storable(text, expected):
    assert redact(text) == expected


@pytest.mark.parametrize(
    "text",
    ["<EMAIL>", "password=<SECRET>", "<EMAIL>@example.com", "my password is <SECRET> ok", "<PHONE><CARD>", "<UNKNOWN>"],
)
def test_placeholders_are_left_alone(text):
    assert redact(text) == text


class Anything:
    """Finds everything, placeholders too."""

    type = "ANYTHING"

    def spans(self, view):
        return [(i, i + 1) for i in range(len(view.text))]


def test_no_recogniser_gets_at_the_inside_of_a_placeholder():
    assert Redactor(recognisers=[Anything()]).redact("a<BYTES>b") == "<ANYTHING><BYTES><ANYTHING>"


class FirstLetter:
    """Finds one letter a pass."""

    type = "LETTER"

    def spans(self, view):
        return [(place, place + 1) for place, char in enumerate(view.text) if char.isalpha()][:1]


class Counting(FirstLetter):
    def __init__(self):
        self.asked = 0

    def spans(self, view):
        self.asked += 1
        return super().spans(view)


def test_a_text_in_which_nothing_was_found_is_searched_once_and_no_other():
    counting = Counting()
    redactor = Redactor(recognisers=[counting], placeholder_key=bytes(32))
    thread = redactor.for_thread("t")
    ways = (redactor.redact, thread.redact, lambda text: thread.mask(text).text)
    assert [way("1 2 3") for way in ways] == ["1 2 3"] * 3
    assert counting.asked == 1
    assert redactor.redact("a b") == redactor.redact("a b") == "<LETTER> <LETTER>"
    assert counting.asked == 1 + 3 + 3
    assert redactor.redact("1 2 3 a") == "1 2 3 <LETTER>"
    assert redactor.findings("1 2 3 a") == [Finding("LETTER", 6, 7)]


def test_only_the_digests_of_the_newest_texts_are_held():
    known = CleanTexts(size=4)
    for text in "abcadae":
        if not known.has(digest_of(text)):
            known.add(digest_of(text))
    assert [known.has(digest_of(text)) for text in "abcde"] == [True, False, False, True, True]
    assert digest_of("t", "a") != digest_of("ta")


def test_a_redactor_that_has_worked_can_be_copied_and_pickled():
    redactor = Redactor(placeholder_key=bytes(32))
    redactor.redact("nothing in it")
    pickled = pickle.dumps(redactor)
    assert digest_of("nothing in it") not in pickled
    for other in (pickle.loads(pickled), copy.deepcopy(redactor)):
        assert other.redact("ann@example.com") == "<EMAIL>"


def test_what_interrupts_a_redactor_may_redact():
    """A signal handler or a finaliser may run between any two lines, and log; log records are redacted."""
    redactor, depth = Redactor(recognisers=[FirstLetter()]), 0

    def interrupt(frame, event, _arg):
        nonlocal depth
        if event == "line" and not depth and frame.f_code.co_filename == clean_texts.__file__:
            depth += 1
            redactor.redact("1 2 3")
            redactor.redact("4 5 6")
            depth -= 1
        return interrupt

    before = sys.gettrace()
    sys.settrace(interrupt)
    try:
        assert [redactor.redact("1 2") for _ in range(3)] == ["1 2"] * 3
    finally:
        sys.settrace(before)


def test_passes_repeat_until_nothing_is_left():
    assert Redactor(recognisers=[FirstLetter()]).redact("a b c") == "<LETTER> <LETTER> <LETTER>"


def test_a_text_that_does_not_settle_is_masked_as_a_whole():
    assert Redactor(recognisers=[FirstLetter()]).redact("a" * 4_000) == "<UNKNOWN>"


def test_findings_tell_type_and_place_but_never_the_value():
    text = "ann@example.com or 0912345678"
    assert REDACTOR.findings(text) == [Finding("EMAIL", 0, 15), Finding("PHONE", 19, 29)]
    assert REDACTOR.findings("<EMAIL> or nothing") == []


def test_a_secret_wins_over_what_it_contains():
    assert redact("password=ann@example.com") == "password=<SECRET>"
    assert redact("my password is 0912345678") == "my password is <SECRET>"


def test_each_replaced_value_is_counted_by_type():
    before = redacted_count("EMAIL"), redacted_count("PHONE")
    redact("ann@example.com, bob@example.org, 0912345678, <EMAIL>")
    assert (redacted_count("EMAIL"), redacted_count("PHONE")) == (before[0] + 2, before[1] + 1)

"""Places that look alike are looked at once, and found as a search of each would find them."""

from __future__ import annotations

import pytest

from discreet.redaction.normalized_text import View
from discreet.redaction.recognisers import (
    AssignmentRecogniser,
    PasswordRecogniser,
    Recogniser,
    SeedPhraseRecogniser,
    ToldCodeRecogniser,
)
from discreet.redaction.recognisers.runs import Hints
from discreet.redaction.recognisers.windows import Windows


def test_equal_surroundings_are_looked_at_once() -> None:
    looked: list[int] = []

    def look(text: str, place: int) -> str:
        looked.append(place)
        return text[place - 1 : place + 2]

    windows = Windows("abcabcabd", look, before=1, behind=2)
    assert [windows.at(place) for place in (1, 4, 7)] == ["abc", "abc", "abd"]
    assert looked == [1, 7]


def test_what_stands_nearer_to_the_beginning_is_no_equal() -> None:
    windows = Windows("aaaa", lambda _, place: place, before=2, behind=1)
    assert [windows.at(place) for place in range(4)] == [0, 1, 2, 2]


def test_places_of_words_are_in_order_and_told_once() -> None:
    words = Hints("key", "mật", "ey", "k")
    assert words.places("A KEY, mật key") == [2, 3, 7, 11, 12]
    assert words.places("no such word") == []


UNIT_FOUND = [
    pytest.param(AssignmentRecogniser(), "password: {}\n", "a1B2{:04}x", id="assigned"),
    pytest.param(PasswordRecogniser(), "My password is {}. ", "a1B2{:04}x", id="spoken"),
    pytest.param(ToldCodeRecogniser(), "Your verification code is {}. ", "73{:04}", id="code"),
]


@pytest.mark.parametrize(("recogniser", "template", "value"), UNIT_FOUND)
def test_each_of_many_is_found_where_it_stands(recogniser: Recogniser, template: str, value: str) -> None:
    values = [value.format(number // 2) for number in range(200)]  # each twice, so that some surroundings are equal
    text = "".join(map(template.format, values))
    found = sorted(set(recogniser.spans(View(text))))
    assert [text[start:end] for start, end in found] == values


def test_a_phrase_is_found_wherever_it_stands() -> None:
    phrase = " ".join(["abandon", "zebra", "ability", "youth", "wrestle", "actor"] * 2)
    for words in range(14):
        text = "The " * words + f"Note:{phrase}. Bye."
        assert [text[start:end] for start, end in SeedPhraseRecogniser().spans(View(text))] == [phrase]

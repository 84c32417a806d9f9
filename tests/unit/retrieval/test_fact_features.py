"""What is read off a fact, and the lists that it is read by."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from discreet.retrieval.fact_features import wording
from discreet.retrieval.phrases import cut

LISTS = {"negation", "ended", "past", "change", "replaced", "addition", "someone", "filler", "particle", "choice"}
LISTS |= {"comparison", "copula", "title"}
GROUPS = {"several", "one", "single", "state", "scale", "thing", "alike", "when", "number"}


def test_every_list_is_one_that_is_read():
    found = tomllib.loads(files("discreet.retrieval").joinpath("fact_features.toml").read_text(encoding="utf-8"))
    assert {name for name, entries in found.items() if isinstance(entries, list)} == LISTS
    assert {name for name, entries in found.items() if isinstance(entries, dict)} == GROUPS


def test_every_phrase_has_something_to_find_it_by():
    found = tomllib.loads(files("discreet.retrieval").joinpath("fact_features.toml").read_text(encoding="utf-8"))
    groups = [entries.values() if isinstance(entries, dict) else [entries] for entries in found.values()]
    assert all(cut(phrase) for lists in groups for phrases in lists for phrase in phrases)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("The call is on Monday at 10:30.", {"monday", "10:30"}),
        ("Встреча в среду, 3 мая", {"wednesday", "3", "may"}),
        ("Họp vào thứ Hai, tháng Sáu", {"monday", "june"}),
        ("我有两只猫，周一见", {"2", "monday"}),
        ("It is -5 degrees", {"-5"}),
    ],
)
def test_numbers_and_days_are_read_in_each_language(text: str, numbers: set[str]):
    assert wording(text).numbers == numbers


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My son Leo plays football.", "leo"),
        ("My son is called Leo.", "leo"),
        ("Con trai tôi tên Khoa thích bơi.", "khoa"),
        ("我女儿艾玛7岁", "艾"),
    ],
)
def test_the_name_of_a_relative_is_read_beside_the_word_for_them(text: str, name: str):
    assert name in wording(text).called["several"]


@pytest.mark.parametrize(
    "text", ["He no longer drinks", "Он больше не пьёт", "Anh ấy không còn uống", "他不再喝酒", "他不喝酒了"]
)
def test_what_has_ended_is_read_in_each_language(text: str):
    assert "ended" in wording(text).marks


def test_a_name_is_no_word_of_a_list():
    assert "filler" not in wording("She met Con in Hue").marks
    assert wording("She met Con in Hue").names == {"con", "hue"}


def test_a_placeholder_is_a_name():
    assert wording("Write to <EMAIL> or <EMAIL:7K2QX3MD>").names == {"<EMAIL>", "<EMAIL:7K2QX3MD>"}

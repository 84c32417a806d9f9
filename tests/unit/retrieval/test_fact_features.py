"""What is read off a fact, and the lists that it is read by."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from discreet.retrieval.fact_features import wording
from discreet.retrieval.phrases import cut


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


@pytest.mark.parametrize(
    ("text", "contrast", "values"),
    [
        ("My left knee hurts", "side", {"left"}),
        ("Мой второй брак", "order", {"2"}),
        ("Em gái tôi sống ở Vinh", "age", {"younger"}),
        ("hoi sinh vien toi song o Hue", "period", {"study"}),
        ("大女儿在学中文", "age", {"elder"}),
        ("我左膝盖疼，十点左右", "side", {"left"}),
    ],
)
def test_values_that_tell_facts_apart_are_read_in_each_language(text: str, contrast: str, values: set[str]):
    assert wording(text).contrasts[contrast] == values


def test_left_is_a_side_beside_what_there_are_two_of_and_else_an_end():
    assert "ended" not in wording("My left knee hurts").marks
    assert "side" not in wording("I left my job").contrasts


def test_words_for_the_same_have_one_sense_whatever_characters_they_are_written_in():
    assert wording("I cycle to work").senses == wording("User commutes by bike").senses
    assert wording("我們學習").senses == wording("我们学习").senses


@pytest.mark.parametrize("name", ["contrasts.toml", "fact_features.toml", "synonyms.toml"])
def test_every_phrase_has_something_to_find_it_by(name: str):
    found = tomllib.loads(files("discreet.retrieval").joinpath(name).read_text(encoding="utf-8"))
    groups = [entries.values() if isinstance(entries, dict) else [entries] for entries in found.values()]
    assert all(cut(phrase) for lists in groups for phrases in lists for phrase in phrases)


def test_each_traditional_character_has_a_simplified_one():
    found = tomllib.loads(files("discreet.retrieval").joinpath("han.toml").read_text(encoding="utf-8"))
    assert len(found["traditional"]) == len(set(found["traditional"])) == len(found["simplified"])

import re

import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers.address import (
    ChineseAddressRecogniser,
    EnglishAddressRecogniser,
    VietnameseAddressRecogniser,
)
from discreet.redaction.recognisers.address.grammar import word_before
from discreet.redaction.words import any_of


@pytest.mark.parametrize("text", ["US", "USA", "U.S.A.", "United States", "United States of America"])
def test_any_of_its_names_fits_as_a_whole(text):
    pattern = re.compile(any_of("US|United States|USA|U.S.A.|United States of America"))
    assert pattern.match(text + "!").end() == len(text)


@pytest.mark.parametrize("text", ["usa", "UxSxAx", "Unite", ""])
def test_nothing_but_its_names_fits(text):
    assert not re.match(any_of("US|USA|U.S.A.|United States"), text)


def test_capitals_matter_unless_told():
    assert not re.match(any_of("ngõ|hẻm"), "NGÕ 5")
    assert re.match(any_of("ngõ|hẻm", caseless=True), "NGÕ 5").end() == len("NGÕ")


@pytest.mark.parametrize(
    ("text", "word"),
    [("on May 5", "may"), ("(Top 5", "top"), ("on May\n5", ""), ("5", ""), ("in the  5", "the"), (" 5", "")],
)
def test_the_word_before_is_one_space_away(text, word):
    assert word_before(text, len(text) - 1) == word


def test_each_address_of_a_list_is_found():
    redactor = Redactor(recognisers=[EnglishAddressRecogniser()])
    text = "12 Main St, Dover, OH 36606\n" * 40
    assert redactor.redact(text).replace("<ADDRESS>", "").strip() == ""


@pytest.mark.parametrize(
    ("recogniser", "text"),
    [  # took a minute, 13 s and 200 s: the parts of a list were divided among each other in all ways
        (VietnameseAddressRecogniser(), "tầng 5 " * 14_000),
        (ChineseAddressRecogniser(), "市中座" * 33_000),
        (ChineseAddressRecogniser(), ("市" * 59 + "x路5號") * 400),
    ],
)
def test_lists_without_an_address_are_given_up_soon(recogniser, text):
    assert Redactor(recognisers=[recogniser]).redact(text) == text


def test_the_areas_before_a_road_are_part_of_the_address():
    redactor = Redactor(recognisers=[ChineseAddressRecogniser()])
    assert redactor.redact("我家在台北市中正區忠孝里中山路5號。" * 3) == "我家在<ADDRESS>。" * 3

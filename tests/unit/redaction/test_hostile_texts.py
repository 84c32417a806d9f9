"""The engine against texts that are made to exhaust it. Nothing is timed here; benchmarks/redaction.py does that."""

import re
from functools import cache

import pytest

from discreet.redaction import Redactor
from discreet.testing import hostile_texts

SIZE = 3_000
TEXTS = hostile_texts(SIZE)
REDACTOR = Redactor()
PLACEHOLDER = re.compile(r"<[A-Z_]+(?::[A-Z2-7]{8})?>")


@cache
def redacted(kind):
    return REDACTOR.redact(TEXTS[kind])


@pytest.mark.fast_cases(60)
@pytest.mark.parametrize("kind", TEXTS)
def test_a_hostile_text_is_redacted_to_one_that_stays_as_it_is(kind):
    once = redacted(kind)
    assert REDACTOR.redact(once) == once


@pytest.mark.fast_cases(60)
@pytest.mark.parametrize("kind", TEXTS)
def test_findings_in_a_hostile_text_are_in_order_inside_it_and_apart(kind):
    done = 0
    for finding in REDACTOR.findings(TEXTS[kind]):
        assert done <= finding.start < finding.end <= SIZE
        done = finding.end


@pytest.mark.parametrize("kind", TEXTS)
def test_what_is_left_of_a_hostile_text_comes_from_it_in_its_order(kind):
    done = 0
    for piece in PLACEHOLDER.split(redacted(kind)):
        found = TEXTS[kind].find(piece, done)
        assert found >= 0
        done = found + len(piece)


@pytest.mark.parametrize("size", [0, 1, 100, 3_000])
def test_all_texts_have_the_size_that_was_asked_for(size):
    assert {len(text) for text in hostile_texts(size).values()} == {size}


def test_texts_are_the_same_for_the_same_seed_and_differ_from_each_other():
    assert hostile_texts(SIZE) == TEXTS
    assert hostile_texts(SIZE, seed=1) != TEXTS
    assert len(set(TEXTS.values())) == len(TEXTS)

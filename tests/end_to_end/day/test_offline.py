"""The same day with the offline model."""

import pytest
from scripted_day import checks
from scripted_day.chat import play_chat
from scripted_day.dump import dump
from scripted_day.script import read_day

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def played(tmp_path_factory, house):
    return play_chat(read_day(), None, house, tmp_path_factory.mktemp("offline"))


def test_every_turn_is_answered_without_an_error(played, record_property):
    record_property("figure", f"{len(played.answers)} turns in {played.seconds:.0f} s")
    checks.none_of(checks.errors(played))
    assert [turn.said for turn in played.day.turns if not played.answers.get(turn.number, "").strip()] == []


def test_facts_are_found(played):
    found = [
        f"{turn.said}: no {word!r} in {played.answers[turn.number]!r}"
        for turn in played.day.turns
        for word in turn.knows
        if word.casefold() not in played.answers[turn.number].casefold()
    ]
    checks.none_of(found)


def test_no_private_value_is_left(played):
    checks.none_of(checks.leaked(played, {**dump(played.data_dir), "output": played.output}))

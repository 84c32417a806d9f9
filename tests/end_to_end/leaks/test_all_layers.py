"""A LangGraph server with all layers keeps nothing that was planted, shows nobody else anything, and works as before."""

import pytest
from leak_suite.layers import ALL
from leak_suite.play import play


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    return play(tmp_path_factory.mktemp("clean") / "project", ALL, webhooks=True)


def test_nothing_planted_is_on_any_disk(played):
    assert played.at_rest == {}


def test_nothing_planted_is_in_an_answer_to_anybody_else_or_in_a_later_one(played):
    assert played.in_replies == {}


def test_nobody_is_let_at_what_is_anothers(played):
    assert played.given_away == set()


def test_graphs_get_real_values_and_owners_see_them_in_live_answers(played):
    assert played.unmet == []


def test_the_search_had_much_to_look_at(played):
    assert len(played.plants.named) > 350
    assert len(played.replies.said) > 700
    assert played.looks > 50

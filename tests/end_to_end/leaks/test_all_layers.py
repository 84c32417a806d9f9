"""A LangGraph server with all layers keeps nothing that was planted, shows nobody else anything, and works as before."""

import base64
import json
import secrets

import pytest
from leak_suite.layers import ALL, ALLOWED_FIELDS
from leak_suite.play import play
from leak_suite.scenes import SCENES

pytestmark = pytest.mark.slow

TALKATIVE = {
    "LOG_LEVEL": "DEBUG",
    "DISCREET_TURN_VAULT": "postgres",
    "DISCREET_ENCRYPTION_KEYS": f"test:{base64.b64encode(secrets.token_bytes(32)).decode()}",
}
"""Every event of a stream is logged, and real values go through the database, sealed."""
UNLOGGED = {"long texts"}
"""Takes minutes where every event is logged, since each is redacted once more."""


@pytest.fixture(
    scope="module",
    params=[{}, pytest.param(TALKATIVE, marks=pytest.mark.slow)],
    ids=["default", "all logs, shared vault"],
)
def played(request, tmp_path_factory):
    scenes = [scene for scene in SCENES if not request.param or scene not in UNLOGGED]
    return play(tmp_path_factory.mktemp("clean") / "project", ALL, scenes=scenes, webhooks=True, **request.param)


def test_nothing_planted_is_on_any_disk(played):
    assert played.at_rest == {}


def test_nothing_planted_is_in_an_answer_to_anybody_else_or_in_a_later_one(played):
    assert played.in_replies == {}


def test_nobody_is_let_at_what_is_anothers(played):
    assert played.given_away == set()


def test_graphs_get_real_values_and_owners_see_them_in_live_answers(played):
    assert played.unmet == []


def test_no_client_makes_the_server_call_langsmith(played):
    assert not [reply.data for reply in played.replies.said if reply.what == "a request to LangSmith"]


def test_webhooks_tell_how_a_run_ended_and_no_more(played):
    called = [json.loads(reply.data) for reply in played.replies.said if reply.what == "webhook"]
    assert called
    assert all(call.keys() <= ALLOWED_FIELDS for call in called)


def test_the_search_had_much_to_look_at(played):
    assert len(played.plants.named) > 350
    assert len(played.replies.said) > 700
    assert played.looks > 50

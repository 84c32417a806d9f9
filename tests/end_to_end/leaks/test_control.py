"""A server without the layers leaks nearly everything that is planted, so that the other tests can fail."""

from fnmatch import fnmatch

import pytest
from leak_suite.play import play

pytestmark = pytest.mark.slow

SCENES = (
    *(
        "thread life",
        "supersteps",
        "state updates",
        "template",
        "wait",
        "background",
        "failing",
        "stateless",
        "webhook",
    ),
    *("each mode", "tokens", "resumable", "pauses", "events over HTTP", "crons", "assistants", "store"),
    *("headers", "addresses"),
)

LEFT_NOWHERE = {
    "a search or a count, looked at and forgotten": (
        *(
            "counted metadata of *",
            "searched * of assistants",
            "namespace prefix of store",
            "query of a search of store",
        ),
    ),
    "refused, and said to the sender alone": (
        *("schedule of crons", "timezone of crons", "input of crons", "graph id of assistants"),
        *("channel of events over HTTP", "unknown command of *", "last event id of resumable"),
        *(
            "bad credentials of headers",
            "token nobody signed of headers",
            "API key of headers",
            "before of a history of *",
        ),
    ),
    "streamed live, and kept for streams that can be resumed alone": ("stream writer of *", "custom event of *"),
    "not in tracebacks as the server writes them": ("cause of an exception of *", "local of a frame of *"),
    "taken out by the template itself": ("tool result of template", "tool result of tokens"),
    "only in the row of a run or a cron, or in a failed request": ("identity, *",),
    "of a trace, and not taken by itself": ("baggage tags of headers",),
    "not logged by the server": ("query of ok of addresses", "query of docs of addresses"),
}
"""Patterns of what a server without layers leaves nowhere either, by the reason."""


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    return play(tmp_path_factory.mktemp("bare") / "project", layers=(), scenes=SCENES, webhooks=True)


def test_without_layers_whatever_is_planted_is_found(played):
    patterns = [pattern for each in LEFT_NOWHERE.values() for pattern in each]
    unseen = played.plants.named.keys() - played.leaks.keys()
    assert [name for name in sorted(unseen) if not any(fnmatch(name, pattern) for pattern in patterns)] == []


def test_without_layers_values_are_found_in_every_place(played):
    where = {place.partition(" reply to ")[0] for places in played.leaks.values() for place in places}
    tables = {"table checkpoints", "table checkpoint_blobs", "table checkpoint_writes", "table store"}
    assert {"log", ".langgraph_ops.pckl", "later", "foreign", "postgres postgres-18/server.log", *tables} <= where
    replies = {place for places in played.in_replies.values() for place in places}
    assert "later reply to webhook" in replies


def test_without_layers_everybody_gets_at_everything(played):
    assert {
        "GET /threads/…",
        "GET /threads/…/state",
        "GET /threads/…/history",
        "GET /runs/crons/…",
    } <= played.given_away

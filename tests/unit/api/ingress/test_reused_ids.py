"""Another message under the id of one that its thread has is refused before a run is made of it."""

import sys
from types import SimpleNamespace

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from discreet.api.ingress.inputs import SERVER
from discreet.graph import build_graph
from discreet.graph.guard import guarded

MAIL = "planted.name@example.com"


@pytest.fixture(autouse=True)
def kept(monkeypatch, stored, vault, redactor, thread):
    """The thread has a message, and its answer."""
    graph = guarded(build_graph(chat_model="offline", vault=vault).compile(), vault=vault)
    monkeypatch.setitem(sys.modules, SERVER, SimpleNamespace(GRAPHS={"agent": graph}))
    stored[thread] = [
        HumanMessage(redactor.for_thread(thread).redact(f"Write to {MAIL}."), id="m1"),
        AIMessage("Done."),
    ]


def run(text, message_id="m1", **more):
    message = {"role": "user", "content": text} | ({"id": message_id} if message_id else {})
    return {"assistant_id": "agent", "input": {"messages": [message]}, **more}


WAYS = ["/threads/{}/runs", "/threads/{}/runs/wait", "/threads/{}/runs/stream"]


@pytest.mark.parametrize("path", WAYS)
async def test_it_is_a_conflict_and_goes_no_further(call, recorder, thread, path):
    reply = await call("POST", path.format(thread), run("Write to planted.other@example.com."))
    assert (reply.status, reply.json["error"]["code"]) == (409, "message_id_reused")
    assert "planted" not in reply.text
    assert not recorder.requests


@pytest.mark.parametrize(
    "body",
    [
        run(f"Write to {MAIL}."),
        run("Write to somebody else.", "m2"),
        run("Write to somebody else.", None),
        run("Write to somebody else.", checkpoint={"checkpoint_id": "1ef663ba-28fe-6528-8002-5a559208592c"}),
        {"assistant_id": "agent", "command": {"resume": "yes"}},
        {"assistant_id": "agent", "input": None},
    ],
    ids=["the same text", "another id", "no id", "a fork", "an answer to a question", "nothing"],
)
async def test_everything_else_goes_on(call, recorder, thread, body):
    assert (await call("POST", f"/threads/{thread}/runs/wait", body)).status == 200
    assert len(recorder.requests) == 1


async def test_a_command_of_the_event_protocol_is_refused_too(call, recorder, thread):
    command = {"id": 1, "method": "run.start", "params": run("Write to planted.other@example.com.")}
    assert (await call("POST", f"/threads/{thread}/commands", command)).status == 409
    assert not recorder.requests

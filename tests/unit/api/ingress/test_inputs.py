"""Bad input is refused in the request, by the limits of the graph that would run it."""

import sys
from types import SimpleNamespace
from uuid import UUID, uuid4, uuid5

import pytest
from langgraph.graph import START, MessagesState, StateGraph

from discreet.api.ingress.inputs import SERVER, check_of
from discreet.graph import build_graph
from discreet.graph.guard import guarded
from discreet.nodes.save_input import make_save_input
from discreet.redaction import InMemoryTurnVault

THREAD = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
NAMESPACE = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")


def guarded_graph(**limits):
    builder = StateGraph(MessagesState)
    builder.add_node(make_save_input(**limits))
    builder.add_edge(START, "save_input")
    return guarded(builder.compile(), vault=InMemoryTurnVault())


def other_graph(*, guard=True):
    builder = StateGraph(MessagesState)
    builder.add_node("anything", lambda state: state)
    builder.add_edge(START, "anything")
    return guarded(builder.compile(), vault=InMemoryTurnVault()) if guard else builder.compile()


@pytest.fixture
def serve(monkeypatch):
    """Return what makes graphs those of the server in this process."""

    def serve(**graphs):
        # the real module can be imported only with a server's environment
        monkeypatch.setitem(sys.modules, SERVER, SimpleNamespace(GRAPHS=graphs, NAMESPACE_GRAPH=NAMESPACE))

    return serve


@pytest.fixture(autouse=True)
def two_graphs(serve):
    serve(agent=guarded_graph(max_chars=20), other=other_graph(), plain=other_graph(guard=False))


def run(content, assistant="agent"):
    return {"assistant_id": assistant, "input": {"messages": [{"role": "user", "content": content}]}}


WAYS = ["/runs", "/runs/wait", "/runs/stream", "/threads/{}/runs", "/threads/{}/runs/wait", "/threads/{}/runs/stream"]


@pytest.mark.parametrize("path", WAYS)
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("x" * 21, (413, "input_too_large")),
        ("", (422, "input_empty")),
        ([{"type": "video"}], (422, "input_unsupported")),
        (42, (422, "input_unsupported")),
    ],
)
async def test_bad_input_is_refused_with_its_code_and_sentence(call, recorder, path, content, expected):
    reply = await call("POST", path.format(THREAD), run(content))
    assert (reply.status, reply.json["error"]["code"]) == expected
    assert reply.json["detail"] == reply.json["error"]["message"]
    assert [field["field"] for field in reply.json["error"]["fields"]] == ["input"]
    assert "Send" in reply.json["detail"] or "Shorten" in reply.json["detail"]
    assert recorder.requests == []


async def test_a_batch_is_refused_as_a_whole_and_told_which_run(call, recorder):
    reply = await call("POST", "/runs/batch", [run("Hi"), run("x" * 21), run("")])
    assert (reply.status, reply.json["error"]["code"]) == (413, "input_too_large")
    assert [field["field"] for field in reply.json["error"]["fields"]] == ["1.input"]
    assert recorder.requests == []


async def test_a_command_that_starts_a_run_is_refused_too(call, thread):
    body = {"id": 1, "method": "run.start", "params": run("")}
    reply = await call("POST", f"/threads/{thread}/commands", body)
    assert (reply.status, reply.json["error"]["code"]) == (422, "input_empty")


@pytest.mark.parametrize("assistant", ["other", "plain", pytest.param(str(uuid4()), id="a uuid"), "nobody"])
async def test_other_graphs_say_for_themselves_what_they_take(call, recorder, assistant):
    reply = await call("POST", "/runs/wait", run("", assistant))
    assert reply.status == 200
    assert len(recorder.requests) == 1


@pytest.mark.parametrize(
    "body", [run("Hi"), {"assistant_id": "agent"}, {"assistant_id": "agent", "command": {"resume": ""}}]
)
async def test_good_input_and_none_pass(call, body):
    assert (await call("POST", "/runs/wait", body)).status == 200


def test_an_assistant_goes_by_its_graph_or_by_the_id_that_the_server_made_of_it(serve):
    assert check_of("agent").max_chars == 20
    assert check_of(str(uuid5(NAMESPACE, "agent"))).max_chars == 20
    assert check_of(str(uuid5(NAMESPACE, "other"))) is None
    assert check_of(str(uuid4())) is None
    serve(agent=guarded_graph(max_chars=30))
    assert check_of(str(uuid4())).max_chars == 30, "there is no other graph that it could be of"


def test_without_the_server_nothing_is_known(monkeypatch):
    monkeypatch.delitem(sys.modules, SERVER)
    assert check_of("agent") is None


def test_the_template_has_its_check():
    assert (
        guarded(build_graph(chat_model="offline").compile(), vault=InMemoryTurnVault()).input_check.max_chars == 20_000
    )

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


@pytest.mark.parametrize("body", [run("Hi"), {"assistant_id": "agent", "command": {"resume": ""}}])
@pytest.mark.parametrize("path", ["/runs/wait", f"/threads/{THREAD}/runs/wait"])
async def test_good_input_passes(call, path, body):
    assert (await call("POST", path, body)).status == 200


@pytest.mark.parametrize("path", ["/threads/{}/runs", "/threads/{}/runs/wait", "/threads/{}/runs/stream"])
async def test_a_result_of_the_clients_tool_passes_alone_and_without_its_values(call, recorder, path):
    said = {"role": "tool", "content": "A page of ann@example.com", "tool_call_id": "c1"}
    reply = await call("POST", path.format(THREAD), {"assistant_id": "agent", "input": {"messages": [said]}})
    assert reply.status == 200
    (kept,) = recorder.body["input"]["messages"]
    assert kept["tool_call_id"] == "c1"
    assert "ann@" not in kept["content"]
    refused = await call("POST", "/runs/wait", {"assistant_id": "agent", "input": {"messages": [said]}})
    assert (refused.status, refused.json["error"]["code"]) == (422, "input_unsupported")


@pytest.mark.parametrize("body", [{}, {"input": None}, {"input": {}}, {"input": {"messages": []}}])
async def test_no_message_is_refused_where_there_is_no_thread_that_has_some(call, recorder, body):
    body = {"assistant_id": "agent", **body}
    for path, sent in (
        ("/runs/wait", body),
        ("/runs/batch", [body]),
        ("/runs/crons", {**body, "schedule": "* * * * *"}),
    ):
        reply = await call("POST", path, sent)
        assert (reply.status, reply.json["error"]["code"]) == (422, "input_empty"), path
    assert recorder.requests == []
    assert (await call("POST", f"/threads/{THREAD}/runs", body)).status == 200
    if body.get("input", {}) is not None:  # which the server's schema of crons does not have
        body = {**body, "schedule": "* * * * *"}
        assert (await call("POST", f"/threads/{THREAD}/runs/crons", body)).status == 200


@pytest.mark.parametrize("path", [*WAYS, "/runs/crons", "/threads/{}/runs/crons"])
@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("hello", "input_unsupported"),
        ([{"role": "user", "content": "hello"}], "input_unsupported"),
        (5, "input_unsupported"),
        (False, "input_unsupported"),
        ({"messages": None}, "input_empty"),
        ({"question": "hello"}, "input_empty"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": {"a": "b"}}]}]}, "input_unsupported"),
        ({"messages": [["user", [{"type": "text", "text": 5}]]]}, "input_unsupported"),
        ({"messages": {"role": "user", "content": [{"type": "text", "text": ["a"]}]}}, "input_unsupported"),
    ],
)
async def test_input_of_a_wrong_type_is_refused_in_any_thread(call, recorder, path, given, code):
    reply = await call("POST", path.format(THREAD), {"assistant_id": "agent", "input": given})
    assert (reply.status, reply.json["error"]["code"]) == (422, code)
    assert [field["field"] for field in reply.json["error"]["fields"]] == ["input"]
    assert recorder.requests == []


@pytest.mark.parametrize("path", ["/runs/crons", f"/threads/{THREAD}/runs/crons"])
async def test_a_cron_is_refused_what_its_runs_would_be(call, recorder, path):
    for content, expected in (("", 422), ("x" * 21, 413), ([{"type": "holo"}], 422)):
        assert (await call("POST", path, {**run(content), "schedule": "* * * * *"})).status == expected
    answer = {"assistant_id": "agent", "input": {"messages": [{"role": "tool", "content": "x", "tool_call_id": "1"}]}}
    assert (await call("POST", path, {**answer, "schedule": "* * * * *"})).status == 422
    assert recorder.requests == []
    assert (await call("POST", path, {**run("Hi"), "schedule": "* * * * *"})).status == 200


async def test_what_a_cron_is_changed_to_is_checked_where_one_graph_is_served(call, recorder, serve):
    path, change = f"/runs/crons/{THREAD}", {"input": run("")["input"]}
    assert (await call("PATCH", path, change)).status == 200, "whose graph it is, is not known"
    serve(agent=guarded_graph(max_chars=20))
    assert (await call("PATCH", path, change)).status == 422
    assert (await call("PATCH", path, {"enabled": False})).status == 200
    for search in ("search", "count"):
        assert (await call("POST", f"/runs/crons/{search}", {"metadata": {}})).status == 200


def template():
    return guarded(build_graph(chat_model="offline").compile(), vault=InMemoryTurnVault())


@pytest.mark.parametrize("place", ["context", "config.configurable"])
@pytest.mark.parametrize(
    "route",
    [
        *(f"POST {path.format(THREAD)}" for path in [*WAYS, "/runs/crons", "/threads/{}/runs/crons"]),
        f"PATCH /runs/crons/{THREAD}",
        "POST /assistants",
        f"PATCH /assistants/{THREAD}",
    ],
)
async def test_a_context_of_wrong_types_is_refused_by_field(call, recorder, serve, route, place):
    serve(agent=template())
    context = {"model": 5, "retrieve_limit": -1, "app_name": "shop"}
    made = {"graph_id": "agent"} if "assistants" in route else {**run("Hi"), "schedule": "* * * * *"}
    said = {"context": context} if place == "context" else {"config": {"configurable": context}}
    reply = await call(*route.split(), {**made, **said})
    assert (reply.status, reply.json["error"]["code"]) == (422, "context_invalid")
    assert reply.json["error"]["fields"] == [
        {"field": f"{place}.model", "problem": "must be a text"},
        {"field": f"{place}.retrieve_limit", "problem": "must be at least 1"},
    ]
    assert recorder.requests == []


async def test_a_context_is_an_object_and_that_of_a_graph_with_another_schema_is_its_own_matter(call, serve):
    assert (await call("POST", "/runs/wait", {**run("Hi"), "context": {"model": 5}})).status == 200
    serve(agent=template())
    reply = await call("POST", "/runs/batch", [run("Hi"), {**run("Hi"), "context": "model"}])
    assert reply.json["error"]["fields"] == [{"field": "1.context", "problem": "must be an object"}]
    assert (await call("POST", "/runs/wait", {**run("Hi"), "context": {"retrieve_limit": 3, "other": 5}})).status == 200


def test_an_assistant_goes_by_its_graph_or_by_the_id_that_the_server_made_of_it(serve):
    assert check_of("agent").messages.max_chars == 20
    assert check_of(str(uuid5(NAMESPACE, "agent"))).messages.max_chars == 20
    assert check_of(str(uuid5(NAMESPACE, "other"))).messages is None
    assert check_of(str(uuid4())) is None
    serve(agent=guarded_graph(max_chars=30))
    assert check_of(str(uuid4())).messages.max_chars == 30, "there is no other graph that it could be of"


def test_without_the_server_nothing_is_known(monkeypatch):
    monkeypatch.delitem(sys.modules, SERVER)
    assert check_of("agent") is None


def test_the_template_has_its_check():
    assert template().input_check.max_chars == 20_000

"""A paused turn as bytes: real graphs pause, their turn is frozen, and another process's saver goes on with it."""

import dataclasses
import doctest
import operator
import zlib
from typing import Annotated, TypedDict

import ormsgpack
import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send, interrupt

from discreet import metrics
from discreet.checkpoint import postgres_spill
from discreet.checkpoint.checkpoint_ref import CheckpointRef
from discreet.checkpoint.scratch_serializer import FRONT
from discreet.checkpoint.serialization import deserialize, serialize
from discreet.checkpoint.spill import Spilled, spill_keys
from discreet.checkpoint.thread_scratch import ThreadScratch
from discreet.encryption import make_key, write_key
from discreet.errors import ConfigurationError

SERDE = JsonPlusSerializer()


def config(thread_id="1"):
    return {"configurable": {"thread_id": thread_id}}


def pause(builder, given):
    """Run until the graph asks; return its turn as the scratch tier holds it."""
    thread = ThreadScratch("1")
    result = builder.compile(thread.saver(SERDE)).invoke(given, config())
    assert result["__interrupt__"]
    return thread


def elsewhere(thread, thread_id="1"):
    """Return the turn as another process has it."""
    return deserialize(serialize(thread, SERDE), thread_id, SERDE)


def tuples(thread, ns):
    where = {"configurable": {"thread_id": thread.thread_id, "checkpoint_ns": ns}}
    return [
        (item.checkpoint, item.metadata, item.pending_writes, item.parent_config)
        for item in thread.saver(SERDE).list(where)
    ]


def refund(amount: int) -> str:
    """Pay back."""
    return f"refunded {amount}" if interrupt({"refund": amount}) else "refused"


@pytest.fixture
def tool_agent():
    """A model that asks for a tool, a tool that asks a person, and a model that reports."""

    def model(state):
        if isinstance(state["messages"][-1], ToolMessage):
            return {"messages": [AIMessage(f"Done: {state['messages'][-1].text}")]}
        call = {"name": "refund", "args": {"amount": 7}, "id": "call"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode([refund]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "model")
    return builder


@pytest.fixture
def parallel():
    """Three tasks of one step: two ask, one has finished."""

    class State(TypedDict):
        done: Annotated[list[str], operator.add]

    def work(item: str):
        return {"done": [item if item == "c" else f"{item} {interrupt(item)}"]}

    builder = StateGraph(State)
    builder.add_node("work", work)
    builder.add_conditional_edges(START, lambda state: [Send("work", item) for item in "abc"], ["work"])
    builder.add_edge("work", END)
    return builder


@pytest.fixture
def nested():
    """A subgraph that asks in its second step."""

    class State(TypedDict):
        notes: Annotated[list[str], operator.add]

    inner = StateGraph(State)
    inner.add_node("first", lambda state: {"notes": ["first"]})
    inner.add_node("second", lambda state: {"notes": [f"second {interrupt('sure?')}"]})
    inner.add_edge(START, "first")
    inner.add_edge("first", "second")
    outer = StateGraph(State)
    outer.add_node("inner", inner.compile())
    outer.add_edge(START, "inner")
    return outer


def test_a_tool_that_asks_goes_on_in_another_process(tool_agent):
    other = elsewhere(pause(tool_agent, {"messages": [HumanMessage("Refund 7")]}))
    result = tool_agent.compile(other.saver(SERDE)).invoke(Command(resume=True), config())
    assert result["messages"][-1].text == "Done: refunded 7"


def test_parallel_questions_are_answered_one_by_one_in_another_process(parallel):
    other = elsewhere(pause(parallel, {"done": []}))
    graph = parallel.compile(other.saver(SERDE))
    asked = {question.value: question.id for question in graph.get_state(config()).interrupts}
    assert set(asked) == {"a", "b"}
    graph.invoke(Command(resume={asked["b"]: "two"}), config())
    third = parallel.compile(elsewhere(other).saver(SERDE))
    assert third.invoke(Command(resume={asked["a"]: "one"}), config())["done"] == ["a one", "b two", "c"]


def test_a_subgraph_that_asks_goes_on_in_another_process(nested):
    thread = pause(nested, {"notes": ["hello"]})
    assert {ns.partition(":")[0] for ns in thread.turn.storage["1"]} == {"", "inner"}
    result = nested.compile(elsewhere(thread).saver(SERDE)).invoke(Command(resume="yes"), config())
    assert result["notes"] == ["hello", "hello", "first", "second yes"]


@pytest.mark.parametrize(
    ("graph", "given"),
    [
        ("tool_agent", {"messages": [HumanMessage("Refund 7")]}),
        ("parallel", {"done": []}),
        ("nested", {"notes": ["hello"]}),
    ],
)
def test_everything_of_a_turn_survives(request, graph, given):
    thread = pause(request.getfixturevalue(graph), given)
    other = elsewhere(thread)
    for ns in thread.turn.storage["1"]:
        assert tuples(other, ns) == tuples(thread, ns)
    assert other.turn.blobs == thread.turn.blobs
    assert other.turn.writes == thread.turn.writes


def test_a_turn_can_be_thawed_as_another_threads(tool_agent):
    other = elsewhere(pause(tool_agent, {"messages": [HumanMessage("Refund 7")]}), "2")
    graph = tool_agent.compile(other.saver(SERDE))
    assert graph.invoke(Command(resume=False), config("2"))["messages"][-1].text == "Done: refused"


def test_what_is_known_to_be_stored_survives():
    thread = ThreadScratch("1")
    thread.anchors = {CheckpointRef("", "b"): "a", CheckpointRef("child", "c"): None}
    thread.stored = {CheckpointRef("", "a"): {"messages": "00000000000000000000000000000003.5", "n": 3, "x": 1.5}}
    thread.paused = {CheckpointRef("", "b"), CheckpointRef("", "a")}
    thread.started = {CheckpointRef("", "a")}
    thread.openings = {CheckpointRef("", "0")}
    thread.said, thread.ended = {"plan"}, {"answer"}
    thread.seeds = {CheckpointRef("", "a"): {"log": [HumanMessage("x", id="1")], "count": 3}}
    thread.closed = {"": "0"}
    other = elsewhere(thread)
    names = ("anchors", "stored", "paused", "started", "openings", "said", "ended", "seeds", "closed")
    assert [getattr(other, name) for name in names] == [getattr(thread, name) for name in names]


def test_every_field_of_a_turn_is_frozen_or_left_out_on_purpose():
    frozen = {"turn", "anchors", "stored", "paused", "started", "openings", "said", "ended", "seeds", "known", "closed"}
    frozen |= {"waits", "runs", "whole", "came_in", "began", "foreign", "foreign_versions"}
    left_out = {
        "thread_id",  # given to `deserialize`
        "answering",  # is about a run of this process
        "run",  # as above
        "alone",  # matters to this process's next turn only, if this one fails
        "overtaken",  # an empty one means that this process is storing the checkpoint just now
        "asked",  # as above
        "begun",  # as below
        "read",  # noted by each run as it begins
        "unfinished",  # learned again from the durable tier
        "answer_by",  # as above
        "refused",  # is about a run of this process
        "policies",  # the saver's own
        "values",  # asked of the vault, and found in what is stored
        "held",  # as above
        "spilled",  # noted by whoever loads it
        "touched",  # the time since then belongs to this process
        "bytes",  # measured anew
        "written",  # as above
        "ends",  # turns that are over stay where they are
    }
    assert {field.name for field in dataclasses.fields(ThreadScratch)} == frozen | left_out


def test_values_of_any_kind_survive():
    values = [
        None,
        b"\x00",
        bytearray(b"x"),
        [],
        [None, b"\x00", [1, [2]]],
        {"a": [1]},
        "",
        1.5,
        {1, 2},
        HumanMessage("x"),
    ]
    thread = ThreadScratch("1")
    saver = thread.saver(SERDE)
    for version, value in enumerate(values):
        thread.turn.blobs["1", "", "channel", version] = saver.serde.dumps_typed(value)
    thread.turn.blobs["1", "", "gone", 1.0] = ("empty", b"")
    other = elsewhere(thread)
    loaded = [SERDE.loads_typed(other.turn.blobs["1", "", "channel", version]) for version in range(len(values))]
    assert loaded == values
    assert [type(value) for value in loaded] == [type(value) for value in values]
    assert other.turn.blobs["1", "", "gone", 1.0] == ("empty", b"")


def test_stored_messages_at_the_front_survive_and_are_kept_once_again(tool_agent):
    stored = [HumanMessage(f"question {number}", id=str(number)) for number in range(50)]
    thread = ThreadScratch("1")
    thread.known.note("", "messages", stored)
    tool_agent.compile(thread.saver(SERDE)).invoke({"messages": [*stored, HumanMessage("Refund 7")]}, config())
    other = elsewhere(thread)
    fronts = [value for kind, value in other.turn.blobs.values() if kind == FRONT]
    assert [front.length for front in fronts] == [50, 50]  # before the model has spoken, and after
    assert all(front.stored is fronts[0].stored for front in fronts)
    thread.measure()
    assert other.size() == thread.size()
    third = tool_agent.compile(elsewhere(other).saver(SERDE))
    messages = third.invoke(Command(resume=True), config())["messages"]
    assert messages[:50] == stored
    assert messages[-1].text == "Done: refunded 7"


def test_a_message_is_kept_once_however_many_steps_hold_it(token):
    class State(TypedDict):
        messages: Annotated[list[AnyMessage], operator.add]

    builder = StateGraph(State)
    names = [f"step{number}" for number in range(10)]
    for name in names:
        builder.add_node(name, lambda state, name=name: {"messages": [AIMessage(name)]})
    builder.add_node("ask", lambda state: {"messages": [AIMessage(interrupt("?"))]})
    for before, after in zip([START, *names], [*names, "ask"], strict=True):
        builder.add_edge(before, after)
    thread = pause(builder, {"messages": [HumanMessage(token)]})
    held = sum(blob.count(token.encode()) for _, blob in thread.turn.blobs.values())
    items = b"".join(item for _, item in ormsgpack.unpackb(zlib.decompress(serialize(thread, SERDE)))["items"])
    assert held > 10
    assert items.count(token.encode()) <= 2  # the message, and the input that it came in


def test_a_turn_laid_out_by_another_version_is_lost_and_counted(caplog):
    count = metrics.spill_unreadable.labels(cause="format")
    before = count._value.get()
    content = ormsgpack.unpackb(zlib.decompress(serialize(ThreadScratch("1"), SERDE)))
    payload = zlib.compress(ormsgpack.packb({**content, "format": 99}))
    assert deserialize(payload, "1", SERDE) is None
    assert count._value.get() == before + 1
    assert [(record.message, record.thread_id) for record in caplog.records] == [("spill_unreadable", "1")]


def test_generations_of_one_head_are_in_the_order_of_time():
    made = [Spilled.now("head", b"") for _ in range(1_000)]
    assert sorted(made, key=lambda spilled: spilled.version) == made
    assert Spilled.now("later", b"").version > made[-1].version


def test_a_paused_turn_does_not_show_its_payload(token):
    assert token not in repr(Spilled.now("head", token.encode()))


def test_the_spill_is_off_unless_it_is_turned_on(monkeypatch):
    monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS", write_key(make_key()))
    assert spill_keys() is None


def test_the_spill_needs_a_key_and_says_how_to_make_one(monkeypatch):
    monkeypatch.setenv("DISCREET_SPILL", "true")
    with pytest.raises(ConfigurationError, match=r"DISCREET_ENCRYPTION_KEYS.*`discreet key`"):
        spill_keys()
    key = make_key()
    monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS", write_key(key))
    assert spill_keys().current() == key


def test_the_example_runs():
    result = doctest.testmod(postgres_spill)
    assert (result.failed, result.attempted > 0) == (0, True)

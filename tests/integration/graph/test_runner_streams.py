"""TurnRunner streams what the graph does."""

import asyncio
import re
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from discreet.checkpoint import RedactingSaver
from discreet.errors import ShortTermError, StorageUnavailableError
from discreet.graph import TurnRunner, build_graph
from discreet.state.context import Context
from discreet.testing import InMemoryShortTermStore, StrictChatModel

EMAIL = "ann.nguyen@example.com"
SAID = f"What did I tell you? Write to {EMAIL}"
THREAD = {"configurable": {"thread_id": "1"}}
ANN = Context(user_id="ann")
MODES = ["values", "updates", "messages", "custom", "tasks", "debug", "checkpoints"]


class UnreachableSaver(InMemorySaver):
    async def aget_tuple(self, config):
        raise StorageUnavailableError


class StopsKeeping(InMemorySaver):
    """Is gone once the answer is there."""

    async def aput(self, config, checkpoint, metadata, new_versions):
        messages = checkpoint["channel_values"].get("messages") or []
        if messages and isinstance(messages[-1], AIMessage):
            raise StorageUnavailableError
        return await super().aput(config, checkpoint, metadata, new_versions)


@tool
def send(to: str) -> str:
    """Send a message."""
    return f"{interrupt({'question': f'send to {to}?'})}: sent to {to}"


def answer(messages):
    said = next(m.text for m in reversed(messages) if m.type == "human")
    if said.startswith("Send") and messages[-1].type == "human":
        return AIMessage("", tool_calls=[{"name": "send", "args": {"to": EMAIL}, "id": "c1"}])
    return AIMessage(f"Noted: {said}", id=str(uuid4()))


@pytest.fixture
def short_term():
    return InMemoryShortTermStore()


@pytest.fixture
def make_graph(short_term):
    def make_graph(*, saver=None):
        model = StrictChatModel(answer=answer)
        builder = build_graph(chat_model=model, tools=[send], short_term=short_term, mask=False)
        return builder.compile(checkpointer=saver or RedactingSaver(InMemorySaver()))

    return make_graph


@pytest.fixture
def make(make_graph, short_term):
    return lambda **options: TurnRunner(make_graph(**options), short_term=short_term)


@pytest.fixture
def runner(make):
    return make()


def said(text=SAID):
    return {"messages": [HumanMessage(text, id=str(uuid4()))]}


async def events(runner, given, **options):
    return [event async for event in runner.astream(given, THREAD, context=ANN, **options)]


@pytest.mark.fast_cases(6)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("subgraphs", [False, True])
async def test_in_each_mode_it_has_the_shape_of_the_graphs_own(make, make_graph, mode, version, subgraphs):
    options = {"stream_mode": mode, "version": version, "subgraphs": subgraphs}
    ours = await events(make(), said(), **options)
    theirs = [e async for e in make_graph().astream(said(), THREAD, context=ANN, **options)]
    assert [shape(event) for event in ours] == [shape(event) for event in theirs]
    if mode in ("values", "debug", "checkpoints"):
        assert EMAIL in repr(ours[-1])
    assert "<EMAIL" not in re.sub(r"'said': '[^']*'", "", repr(ours)), "but in what memories are searched with"


def shape(event):
    """Return of what kind an event is, without what it says."""
    if isinstance(event, dict):
        return {key: shape(item) if key in ("data", "payload") else type(item) for key, item in event.items()}
    return [shape(each) for each in event] if isinstance(event, tuple) else type(event)


async def test_several_modes_come_as_pairs_and_without_a_mode_it_is_the_graphs_own(runner):
    seen = await events(runner, said(), stream_mode=["values", "custom"])
    assert {mode for mode, _ in seen} == {"values"}
    assert seen[-1][1]["messages"][-1].text == f"Noted: {SAID}"
    assert list((await events(runner, said("And this?")))[0]) == ["save_input"]


async def test_words_arrive_as_the_model_says_them(runner):
    seen = await events(runner, said(), stream_mode="messages")
    pieces = [m.text for m, about in seen if isinstance(m, AIMessageChunk) and about["langgraph_node"] == "assistant"]
    assert len(pieces) > 3
    assert "".join(pieces) == f"Noted: {SAID}"


@pytest.mark.fast_cases(6)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_a_repeated_delivery_streams_the_stored_answer(runner, mode, version):
    message = said()
    await events(runner, message)
    seen = await events(runner, message, stream_mode=mode, version=version)
    data = [event["data"] if version == "v2" else event for event in seen]
    told = {
        "values": lambda: data[0]["messages"][-1],
        "updates": lambda: data[0]["delivery"]["messages"][0],
        "messages": lambda: data[0][0],
    }
    if mode not in told:
        assert seen == []
        return
    assert len(seen) == 1
    assert told[mode]().text == f"Noted: {SAID}"
    assert told[mode]().response_metadata == {"delivery": "repeated"}


async def test_a_stream_that_is_given_up_frees_its_message(runner):
    message = said()
    stream = runner.astream(message, THREAD, context=ANN, stream_mode="messages")
    async for _ in stream:
        break
    await stream.aclose()
    state = await runner.ainvoke(message, THREAD, context=ANN)
    assert "delivery" not in state["messages"][-1].response_metadata


async def test_without_the_checkpointer_the_stream_goes_on(make):
    await events(make(), said("I remember two parrots"))
    seen = await events(make(saver=UnreachableSaver()), said(), stream_mode="values")
    assert [m.text for m in seen[-1]["messages"]] == [
        "I remember two parrots",
        "Noted: I remember two parrots",
        SAID,
        f"Noted: {SAID}",
    ]


async def test_an_answer_that_can_not_be_kept_is_streamed(make, caplog):
    seen = await events(make(saver=StopsKeeping()), said("Green tea"), stream_mode="values")
    assert seen[-1]["messages"][-1].text == "Noted: Green tea"
    assert "lost=turn" in caplog.text


async def test_a_paused_turn_streams_its_question_and_goes_on(runner):
    seen = await events(runner, said("Send it please"), stream_mode="updates")
    assert seen[-1]["__interrupt__"][0].value == {"question": f"send to {EMAIL}?"}
    seen = await events(runner, Command(resume="yes"), stream_mode="values")
    assert seen[-1]["messages"][-1].text == "Noted: Send it please"


async def test_a_static_breakpoint_is_gone_on_from_with_no_input(runner):
    await runner.ainvoke(said(), THREAD, context=ANN, interrupt_before=["assistant"])
    assert (await runner.aget_state(THREAD)).next == ("assistant",)
    assert (await runner.ainvoke(None, THREAD, context=ANN))["messages"][-1].text == f"Noted: {SAID}"


async def test_a_paused_turn_without_its_checkpointer_is_an_error(make):
    with pytest.raises(StorageUnavailableError):
        await make(saver=UnreachableSaver()).ainvoke(Command(resume="yes"), THREAD, context=ANN)


async def test_the_state_is_changed_as_by_the_graph_itself(runner):
    await runner.ainvoke(said(), THREAD, context=ANN)
    await runner.aupdate_state(THREAD, {"messages": [HumanMessage("Later", id="m9")]}, "save_input")
    state = await runner.aget_state(THREAD)
    assert [m.text for m in state.values["messages"]] == [SAID, f"Noted: {SAID}", "Later"]


async def test_without_the_short_term_store_it_streams_all_the_same(make, short_term):
    async def fail(*args, **kwargs):
        raise ShortTermError

    short_term.claim = fail
    assert (await events(make(), said(), stream_mode="values"))[-1]["messages"][-1].text == f"Noted: {SAID}"


def test_without_an_event_loop_it_is_the_same(runner):
    message = said()
    seen = list(runner.stream(message, THREAD, context=ANN, stream_mode=["messages", "values"]))
    assert seen[-1][1]["messages"][-1].text == f"Noted: {SAID}"
    stream = runner.stream(said("Never heard"), THREAD, context=ANN)
    next(stream)
    stream.close()
    assert runner.get_state(THREAD).values["messages"][0].text == SAID
    runner.update_state(THREAD, {"messages": [HumanMessage("Later", id="m9")]}, "save_input")
    paused = runner.invoke(said("Send it please"), {"configurable": {"thread_id": "2"}}, context=ANN)
    assert paused["__interrupt__"]


def test_a_loop_of_its_own_for_each_turn_will_do(runner):
    for text in ("I am at home", "And now?"):
        seen = asyncio.run(events(runner, said(text), stream_mode="values"))
    assert len(seen[-1]["messages"]) == 4

"""Turns that are over, for those who want to go back: whole in RAM, sealed for other processes, or as a bare trace."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from kit.planter import Planter
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from discreet.checkpoint import KEEP, CheckpointPolicy, RedactingSaver, ScratchLimits
from discreet.encryption import Keyring, make_key
from discreet.errors import ConfigurationError, PauseExpiredError, TransientStateLostError
from discreet.testing import InMemorySpill

THREAD: dict[str, Any] = {"configurable": {"thread_id": "1"}}
RAW = Planter().raw("result")
CALL = {"name": "look_up", "args": {"query": RAW}, "id": "c1"}


def agent(saver: Any, runs: list[str] | None = None) -> Any:
    """A model that looks something up, which may ask, in a sub-agent; then it answers."""
    runs = [] if runs is None else runs

    def plan(state: MessagesState) -> Any:
        return {"messages": [AIMessage("", tool_calls=[CALL])]}

    def look_up(state: MessagesState) -> Any:
        answer = interrupt("may I?") if "ask" in state["messages"][-2].text else "yes"
        runs.append(str(answer))
        return {"messages": [ToolMessage(f"{RAW} {answer}", tool_call_id="c1")]}

    def answer(state: MessagesState) -> Any:
        return {"messages": [AIMessage(f"answer {len(runs)}")]}

    inner = StateGraph(MessagesState)
    inner.add_node("look_up", look_up)
    inner.add_edge(START, "look_up")
    builder = StateGraph(MessagesState)
    builder.add_node("plan", plan)
    builder.add_node("tools", inner.compile())
    builder.add_node("answer", answer)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "tools")
    builder.add_edge("tools", "answer")
    return builder.compile(checkpointer=saver)


def say(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


async def history(graph: Any) -> list[Any]:
    return [state async for state in graph.aget_state_history(THREAD)]


async def step_before(graph: Any, node: str) -> Any:
    return next(state for state in await history(graph) if state.next == (node,))


@pytest.fixture(params=["sync", "async"])
def durability(request: pytest.FixtureRequest) -> Any:
    return {"durability": request.param}


async def test_by_default_nothing_of_the_middle_of_a_turn_stays(durability):
    graph = agent(RedactingSaver(InMemorySaver()))
    await graph.ainvoke(say("hello"), THREAD, **durability)
    assert [state.next for state in await history(graph)] == [(), ("__start__",)]


async def test_a_turn_that_is_kept_can_be_forked_before_a_node(durability):
    runs: list[str] = []
    graph = agent(RedactingSaver(InMemorySaver(), scratch=ScratchLimits(keep_closed=2)), runs)
    await graph.ainvoke(say("hello"), THREAD, **durability)
    before = await step_before(graph, "tools")
    assert before.values["messages"][-1].tool_calls
    again = await graph.ainvoke(None, before.config, **durability)
    assert (len(runs), again["messages"][-1].text) == (2, "answer 2")
    changed = await graph.aupdate_state(before.config, {"messages": [AIMessage("by hand")]}, as_node="answer")
    assert [m.text for m in (await graph.aget_state(changed)).values["messages"]] == ["hello", "", "by hand"]


async def test_what_is_stored_and_what_the_next_turn_sees_is_the_same_with_and_without_kept_turns(durability):
    inner = InMemorySaver()
    graph = agent(RedactingSaver(inner, scratch=ScratchLimits(keep_closed=2)))
    for text in ("one", "two"):
        out = await graph.ainvoke(say(text), THREAD, **durability)
    assert [m.type for m in out["messages"]] == ["human", "ai", "human", "ai", "tool", "ai"]
    stored = (await agent(RedactingSaver(inner)).aget_state(THREAD)).values["messages"]
    assert [m.text for m in stored] == ["one", "answer 1", "two", "answer 2"]


async def test_only_the_last_turns_are_kept(durability):
    saver = RedactingSaver(InMemorySaver(), scratch=ScratchLimits(keep_closed=2))
    graph = agent(saver)
    sizes = []
    for number in range(6):
        await graph.ainvoke(say(f"turn {number}"), THREAD, **durability)
        with saver._scratch.reading("1") as thread:
            sizes.append((len(thread.turn.blobs), len(thread.turn.writes), thread.size()))
    steps = [state for state in await history(graph) if state.next == ("tools",)]
    assert [state.values["messages"][-2].text for state in steps] == ["turn 5", "turn 4"]
    assert sizes[3][:2] == sizes[5][:2], "RAM does not grow with the turns"


async def test_an_approval_of_a_finished_turn_can_be_answered_again(durability):
    runs: list[str] = []
    graph = agent(RedactingSaver(InMemorySaver(), scratch=ScratchLimits(keep_closed=1)), runs)
    await graph.ainvoke(say("ask me"), THREAD, **durability)
    paused = (await graph.aget_state(THREAD)).config
    await graph.ainvoke(Command(resume="yes"), THREAD, **durability)
    assert (await graph.ainvoke(None, paused, **durability))["__interrupt__"][0].value == "may I?"
    await graph.ainvoke(Command(resume="no"), THREAD, **durability)
    assert runs == ["yes", "no"]
    without = agent(RedactingSaver(InMemorySaver()))
    await without.ainvoke(say("ask me"), THREAD, **durability)
    paused = (await without.aget_state(THREAD)).config
    await without.ainvoke(Command(resume="yes"), THREAD, **durability)
    with pytest.raises(TransientStateLostError):
        await without.ainvoke(None, paused, **durability)


async def test_the_state_of_a_finished_sub_agent_can_be_read(durability):
    graph = agent(RedactingSaver(InMemorySaver(), scratch=ScratchLimits(keep_closed=1)))
    await graph.ainvoke(say("hello"), THREAD, **durability)
    before = await step_before(graph, "tools")
    inner = (await graph.aget_state(before.config, subgraphs=True)).tasks[0].state
    assert [m.type for m in inner.values["messages"]][-1] == "tool"


async def test_a_copy_has_the_kept_turns_and_a_deletion_takes_them(durability):
    saver = RedactingSaver(InMemorySaver(), scratch=ScratchLimits(keep_closed=1))
    graph = agent(saver)
    await graph.ainvoke(say("hello"), THREAD, **durability)
    await saver.acopy_thread("1", "2")
    copied = [state async for state in graph.aget_state_history({"configurable": {"thread_id": "2"}})]
    assert ("tools",) in [state.next for state in copied]
    await saver.adelete_thread("1")
    assert await history(graph) == []


@pytest.fixture
def two_processes(database):
    """Return what opens savers over one database with one key."""
    keys = Keyring([make_key()])
    return lambda **options: RedactingSaver.from_conn_string(database, keys=keys, **options)


@pytest.mark.slow
@pytest.mark.dialect
async def test_another_process_forks_a_turn_that_is_kept_for_it(two_processes, database, on_disk):
    runs: list[str] = []
    async with two_processes(history_ttl=600) as here, two_processes(history_ttl=600) as there:
        await here.setup()
        graph = agent(here)
        for text in ("one", "two"):
            await graph.ainvoke(say(text), THREAD)
        elsewhere = agent(there, runs)
        steps = [state for state in await history(elsewhere) if state.next == ("tools",)]
        assert [state.values["messages"][-2].text for state in steps] == ["two", "one"]
        again = await elsewhere.ainvoke(None, steps[1].config)
        assert (runs, again["messages"][-1].text) == (["yes"], "answer 1")
    async with two_processes(history_ttl=600) as fresh:  # by its id alone, without a look at the history
        state = await agent(fresh).aget_state(steps[0].config)
        assert state.next == ("tools",)
        await fresh.adelete_thread("1")
        with pytest.raises(TransientStateLostError):
            await agent(fresh).ainvoke(None, steps[0].config)
    assert on_disk(result=f"{RAW} yes") == set()


async def test_a_history_needs_a_key():
    with pytest.raises(ConfigurationError, match="keys="):
        RedactingSaver(InMemorySaver(), history_ttl=600)


async def test_a_history_ends(monkeypatch):
    now = 0.0
    spill = InMemorySpill()
    spill.sync._clock = lambda: now
    saver = RedactingSaver(InMemorySaver(), spill=spill, history_ttl=600)
    graph = agent(saver)
    await graph.ainvoke(say("hello"), THREAD)
    assert len(await spill.ended("1")) == 1
    now = 601.0
    assert await spill.ended("1") == []


async def test_a_trace_shows_names_order_times_and_sizes_and_runs_nothing():
    inner = InMemorySaver()
    runs: list[str] = []
    graph = agent(RedactingSaver(inner, policy=CheckpointPolicy(trace=True)), runs)
    await graph.ainvoke(say("hello"), THREAD)
    elsewhere = agent(RedactingSaver(inner, policy=CheckpointPolicy(trace=True)), runs)
    shown = await history(elsewhere)
    steps = [state.metadata["trace"] for state in shown if isinstance(state.metadata.get("trace"), dict)]
    assert [step["nodes"] for step in steps] == [["answer"], ["tools"], ["plan"]]
    assert [step["ts"] for step in steps] == sorted((step["ts"] for step in steps), reverse=True)
    assert all(step["bytes"]["messages"] > 0 for step in steps)
    assert "raw" not in str(shown)
    step = next(state for state in shown if isinstance(state.metadata.get("trace"), dict))
    assert (step.values, step.next) == ({"messages": []}, ())
    assert (await elsewhere.aget_state(step.config)).metadata["trace"]["nodes"] == ["answer"]
    with pytest.raises(TransientStateLostError):
        await elsewhere.ainvoke(None, step.config)
    with pytest.raises(TransientStateLostError):
        await elsewhere.aupdate_state(step.config, say("instead"), as_node="plan")
    assert runs == ["yes"]
    await elsewhere.ainvoke(say("and now"), THREAD)
    assert len((await elsewhere.aget_state(THREAD)).values["messages"]) == 4


async def test_a_checkpoint_that_is_gone_is_no_empty_thread():
    graph = agent(RedactingSaver(InMemorySaver()))
    await graph.ainvoke(say("ask me"), THREAD)
    gone = (await graph.aget_state(THREAD)).config
    await graph.ainvoke(Command(resume="yes"), THREAD)
    fresh = {"configurable": {"thread_id": "1", "checkpoint_id": "1f0a0000-0000-6000-8000-000000000000"}}
    for config, given in ((gone, None), (fresh, None), (fresh, say("instead"))):
        with pytest.raises(TransientStateLostError):
            await graph.ainvoke(given, config)
    with pytest.raises(TransientStateLostError):
        await graph.aupdate_state(fresh, say("instead"), as_node="plan")
    assert [m.text for m in (await graph.aget_state(THREAD)).values["messages"]] == ["ask me", "answer 1"]


@pytest.mark.parametrize("expired", [False, True])
async def test_a_pause_says_until_when_it_can_be_answered(monkeypatch, expired):
    inner = InMemorySaver()
    await agent(RedactingSaver(inner, pause_seconds=7200)).ainvoke(say("ask me"), THREAD)
    elsewhere = agent(RedactingSaver(inner))
    until = datetime.fromisoformat((await elsewhere.aget_state(THREAD)).metadata["answer_by"])
    assert timedelta(seconds=7100) < until - datetime.now(UTC) <= timedelta(seconds=7200)
    if expired:

        class Later(datetime):
            @classmethod
            def now(cls, tz=None):
                return datetime.now(tz) + timedelta(hours=3)

        monkeypatch.setattr("discreet.checkpoint.refusals.datetime", Later)
    with pytest.raises(TransientStateLostError) as caught:
        await elsewhere.ainvoke(Command(resume="yes"), THREAD)
    assert isinstance(caught.value, PauseExpiredError) is expired


async def test_a_channel_that_cannot_be_kept_is_told_once(caplog):
    builder = StateGraph(dict)
    saver = RedactingSaver(InMemorySaver(), policy=CheckpointPolicy(channels={"__root__": KEEP}))
    builder.add_node("make", lambda _: {"what": HumanMessage("no plain data")})
    builder.add_edge(START, "make")
    graph = builder.compile(checkpointer=saver)
    with caplog.at_level(logging.WARNING, "discreet.checkpoint"):
        for _ in range(3):
            await graph.ainvoke({"what": 1}, THREAD)
    told = [record for record in caplog.records if record.message == "channel_not_stored"]
    assert [(record.channel, record.type) for record in told] == [("__root__", "dict")]

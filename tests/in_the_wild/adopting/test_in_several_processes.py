"""Two processes over one database: what one was told the other knows, and what one was asked the other can answer."""

from __future__ import annotations

from contextlib import suppress

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from testkit.adopters import ADOPTERS
from testkit.adopting import Agent, Recorder, Said, adopted, answer, play, state_of

from discreet.errors import TransientStateLostError

PAUSED = ["approve", "edit", "interrupt in a tool"]


@pytest.mark.parametrize("name", ["tools", "own channels, named"])
async def test_values_of_earlier_turns_resolve_in_another_process(keys, elsewhere, stock_dsn, database, name):
    adopter, said, stock = ADOPTERS[name], Said(database), Said()
    async with AsyncPostgresSaver.from_conn_string(stock_dsn) as saver:
        before = [await play(adopter, stock, saver, only=[at]) for at in (0, 1)]
    first, _ = elsewhere(name, said, 0)
    assert first.differences(before[0]) == {}
    async with adopted(database, adopter.policy) as (saver, memory, _):
        graph = adopter.build(Agent(said, saver, memory, Recorder(replies=[])))
        assert await state_of(graph, said) == first.state[0]
        assert (await play(adopter, said, saver, memory, only=[1])).differences(before[1]) == {}
    assert said.on_disk() == {}


@pytest.mark.parametrize("name", PAUSED)
async def test_a_pause_is_seen_and_answered_in_another_process(keys, elsewhere, stock_dsn, database, name):
    adopter, said, stock = ADOPTERS[name], Said(database), Said()
    async with AsyncPostgresSaver.from_conn_string(stock_dsn) as saver:
        asked = await play(adopter, stock, saver, only=[0])
        before = await play(adopter, stock, saver, only=[1, 2])
    elsewhere(name, said, 0)
    assert said.on_disk() == {}, "while it waits"
    async with adopted(database, adopter.policy) as (saver, memory, _):
        graph = adopter.build(Agent(said, saver, memory, Recorder(replies=[])))
        state = await state_of(graph, said)
        assert state["next"] == asked.state[0]["next"]
        assert len(state["interrupts"]) == 1
        after = await play(adopter, said, saver, memory, only=[1, 2])
    assert after.differences(before) == {}, "what was done before the pause is not done again"
    assert said.on_disk() == {}


@pytest.mark.parametrize("name", PAUSED)
async def test_without_keys_a_pause_is_seen_and_its_answer_refused(elsewhere, database, name):
    adopter, said = ADOPTERS[name], Said(database)
    asked, _ = elsewhere(name, said, 0)
    async with adopted(database, adopter.policy) as (saver, memory, _):
        agent = Agent(said, saver, memory, Recorder(replies=[answer("Let us go on.")], repeats=True))
        graph = adopter.build(agent)
        state = await state_of(graph, said)
        assert state["next"] == asked.state[0]["next"]
        assert len(state["interrupts"]) == 1
        with pytest.raises(TransientStateLostError, match=r"DISCREET_(SPILL|ENCRYPTION_KEYS)"):
            await graph.ainvoke(adopter.turns(said)[1].given, said.config())
        assert (agent.got, agent.llm.prompts) == ([], []), "no tool runs, and no model"
        with suppress(TransientStateLostError):  # or the turn goes on
            await graph.ainvoke(None, said.config())
        result = await graph.ainvoke({"messages": [HumanMessage("Never mind.", id="m-9")]}, said.config())
        assert result["messages"][-1].text == "Let us go on."
        assert agent.got == [], "no tool runs again"
    assert said.on_disk() == {}


@pytest.mark.parametrize("given", ["nothing", "a message"])
async def test_with_keys_no_tool_runs_twice_for_who_does_not_answer(keys, elsewhere, database, given):
    adopter, said = ADOPTERS["approve"], Said(database)
    elsewhere("approve", said, 0)
    async with adopted(database) as (saver, memory, _):
        agent = Agent(said, saver, memory, Recorder(replies=[answer("Let us go on.")]))
        graph = adopter.build(agent)
        sent = None if given == "nothing" else {"messages": [HumanMessage("Never mind.", id="m-9")]}
        result = await graph.ainvoke(sent, said.config())
        assert agent.got == []
        assert bool(result.get("__interrupt__")) == (given == "nothing"), "who sends nothing is asked again"


async def test_channels_that_are_not_stored_are_gone_and_named_in_one_warning(elsewhere, database, stock_dsn):
    adopter, said, stock = ADOPTERS["own channels, unnamed"], Said(database), Said()
    async with AsyncPostgresSaver.from_conn_string(stock_dsn) as saver:
        before = await play(adopter, stock, saver)
    after, warnings = elsewhere("own channels, unnamed", said, 0, 1)
    assert set(after.differences(before)) == {"caller[1].cart", "caller[1].locale"}
    [warning] = [each for each in warnings if "cart" in each]
    assert "locale" in warning
    assert "CheckpointPolicy(channels={" in warning
    assert said.on_disk() == {}

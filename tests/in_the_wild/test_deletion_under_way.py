"""A thread is deleted while a run in it is under way: nothing of the run is left, and the id is free at once."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from kit.places import snapshot
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from testkit.houses import House

from discreet.checkpoint.postgres.threads import NOBODY
from discreet.errors import DiscreetError

pytestmark = pytest.mark.slow


class Slow:
    """A graph whose model waits until it is let go on."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.started = asyncio.Event()
        self.let_go = asyncio.Event()

    def graph(self, saver: Any, what: str = "done", *, asks: bool = False) -> Any:
        async def before(state: MessagesState) -> dict[str, Any]:
            return {"messages": [self.house.call("look_up")]}

        async def model(state: MessagesState) -> dict[str, Any]:
            if asks:
                interrupt(self.house.raw("question"))
            self.started.set()
            await self.let_go.wait()
            return {"messages": [self.house.answer(what)]}

        builder = StateGraph(MessagesState)
        builder.add_node("before", before)
        builder.add_node("model", model)
        builder.add_edge(START, "before")
        builder.add_edge("before", "model")
        return builder.compile(checkpointer=saver)

    async def ended(self, under_way: asyncio.Task[Any]) -> None:
        """Let the run end, well or with an error that is ours."""
        self.let_go.set()
        (outcome,) = await asyncio.gather(under_way, return_exceptions=True)
        assert isinstance(outcome, dict | DiscreetError), f"the run failed with an error of the driver's: {outcome!r}"


@pytest.fixture
async def slow(house: House) -> Slow:
    return Slow(house)


def rows_about(house: House) -> list[str]:
    """Return what is left of the thread, but for the id in its tombstone, which stays a day and is nobody's."""
    tombstones = "SELECT t::text FROM checkpoint_threads t WHERE user_key = %s AND deleted_at IS NOT NULL"
    with psycopg.connect(house.dsn) as connection:
        stays = {row for (row,) in connection.execute(tombstones, (NOBODY,))}
    found = house.on_disk(files=False)
    about = [row for of_table in snapshot(house.dsn).values() for row in of_table if house.thread in row]
    return [*found.leaks, *found.kept, *(row for row in about if row not in stays)]


@pytest.mark.parametrize("deleted_by", ["the process that runs it", "another process"])
async def test_a_run_under_way_leaves_nothing(house, run, slow, deleted_by):
    async with house.saver() as saver, house.saver() as other:
        graph = slow.graph(saver)
        under_way = asyncio.create_task(run(graph, {"messages": [house.user("ask")]}, house.config))
        await slow.started.wait()
        await (other if deleted_by == "another process" else saver).adelete_thread(house.thread)
        await slow.ended(under_way)
        assert rows_about(house) == [], "the run wrote after its thread was deleted"
        assert (await graph.aget_state(house.config)).values == {}, "the process still shows the thread"
    assert await house.after_restart(slow.graph) == []
    assert house.on_disk().leaks == {}


@pytest.mark.parametrize("deleted_by", ["the process that runs it", "another process"])
async def test_the_id_can_be_used_anew_while_the_old_run_still_runs(house, run, slow, deleted_by):
    async with house.saver() as saver, house.saver() as other:
        under_way = asyncio.create_task(run(slow.graph(saver), {"messages": [house.user("ask")]}, house.config))
        await slow.started.wait()
        deleting = other if deleted_by == "another process" else saver
        await deleting.adelete_thread(house.thread)
        anew = Slow(house)
        anew.let_go.set()
        await run(anew.graph(deleting, "fine"), {"messages": [house.user("new")]}, house.config)
        await slow.ended(under_way)
        state = await anew.graph(deleting).aget_state(house.config)
        expected = [("human", "new"), ("ai", "fine")]
        assert house.told(state.values["messages"]) == expected, "what is left of the deleted run is in the new thread"
    assert await house.after_restart(slow.graph) == expected
    house.check(lost=["ask", "done"])


async def test_a_thread_that_waits_for_an_answer_is_deleted(house, run, slow):
    async with house.saver() as saver:
        graph = slow.graph(saver, asks=True)
        slow.let_go.set()
        await run(graph, {"messages": [house.user("ask")]}, house.config)
        await saver.adelete_thread(house.thread)
        assert rows_about(house) == []
        # Nobody waits any more: LangGraph's own saver begins anew or refuses, and so may ours.
        resumed = run(graph, Command(resume="yes"), house.config)
        (outcome,) = await asyncio.gather(resumed, return_exceptions=True)
        assert not isinstance(outcome, psycopg.Error), "an error of the driver's"
        assert not [row for row in rows_about(house) if "keepask" in row], "the deleted message is back"
        anew = slow.graph(saver, "fine")
        await saver.adelete_thread(house.thread)
        await run(anew, {"messages": [house.user("new")]}, house.config)
    assert await house.after_restart(slow.graph) == [("human", "new"), ("ai", "fine")]
    house.check(lost=["ask", "done"])

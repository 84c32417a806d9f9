"""The rolling summary keeps up wherever the template runs, over a real database."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from discreet.background_loop import wait_for
from discreet.checkpoint import RedactingSaver
from discreet.graph import TurnRunner, build_graph, drain
from discreet.nodes.rolling_summary import CHUNK
from discreet.providers.summaries import ExtractiveSummaryProvider
from discreet.state.context import Context
from discreet.storage import open_storage, open_storage_sync
from discreet.testing import InMemoryRollingSummaries, ScriptedChatModel

pytestmark = pytest.mark.slow

ANN = Context(user_id="ann")
THREAD = {"configurable": {"thread_id": "t"}}


class Never:
    """Never answers."""

    asked = 0

    async def summarize(self, rounds, *, earlier="", max_tokens=200):
        self.asked += 1
        await asyncio.get_running_loop().create_future()


def said(number):
    return {"messages": [("user", f"My cat number {number} is called Mia.")]}


def builder(**options):
    answers = [AIMessage(f"Noted, {n}.") for n in range(200)]
    options = {"summary_provider": ExtractiveSummaryProvider(), **options}
    return build_graph(chat_model=ScriptedChatModel(responses=answers), **options)


def test_an_event_loop_and_a_storage_a_turn(database):
    never = Never()

    async def turn(number):
        async with open_storage(database) as storage:
            saver = RedactingSaver.from_pool(storage.pool)
            await saver.setup()
            graph = builder(summaries=storage.summaries, summary_provider=never).compile(checkpointer=saver)
            await graph.ainvoke(said(number), THREAD, context=ANN)
            return (await storage.summaries.get("ann", "t")).rounds

    turns = [asyncio.run(turn(number)) for number in range(1, 21)]
    assert all(number - covered < 2 * CHUNK for number, covered in enumerate(turns, 1))
    assert turns[-1] == 20
    assert never.asked == 0  # so no turn waited for it


def test_an_event_loop_a_turn_over_one_graph_and_a_foreign_saver():
    summaries = InMemoryRollingSummaries()
    graph = builder(summaries=summaries).compile(checkpointer=InMemorySaver())
    for number in range(1, 21):
        asyncio.run(graph.ainvoke(said(number), THREAD, context=ANN))
        assert number - asyncio.run(summaries.get("ann", "t")).rounds < 2 * CHUNK


@pytest.mark.parametrize("summarise", ["background", "turn"])
def test_blocking_calls_from_threads(database, summarise):
    with open_storage_sync(database) as storage:
        graph = builder(summaries=storage.summaries, summarise=summarise).compile(checkpointer=InMemorySaver())

        def talk(user):
            for number in range(1, 12):
                graph.invoke(said(number), {"configurable": {"thread_id": user}}, context=Context(user_id=user))

        with ThreadPoolExecutor(3) as threads:
            list(threads.map(talk, ["ann", "bob", "eve"]))
        assert wait_for(drain()) == 0
        for user in ("ann", "bob", "eve"):
            assert wait_for(storage.summaries.get(user, user)).rounds >= 10


def test_a_terminal_whose_loop_stands_still_between_turns(database):
    with asyncio.Runner() as runner:
        opened = open_storage(database)
        storage = runner.run(opened.__aenter__())
        graph = builder(summaries=storage.summaries).compile(checkpointer=InMemorySaver())
        for number in range(1, 16):
            runner.run(graph.ainvoke(said(number), THREAD, context=ANN))
            time.sleep(0.05)
            assert number - runner.run(storage.summaries.get("ann", "t")).rounds < 2 * CHUNK
        assert runner.run(drain()) == 0
        assert runner.run(storage.summaries.get("ann", "t")).rounds == 15
        runner.run(opened.__aexit__(None, None, None))


async def test_in_the_turn_the_summary_is_there_when_the_turn_ends(database):
    async with open_storage(database) as storage:
        graph = builder(summaries=storage.summaries, summarise="turn").compile(checkpointer=InMemorySaver())
        for number in range(1, 11):
            await graph.ainvoke(said(number), THREAD, context=ANN)
            assert (await storage.summaries.get("ann", "t")).rounds == number - number % CHUNK


async def test_a_service_that_stops_finishes_the_summary_that_is_under_way(database):
    async with open_storage(database) as storage:
        runner = TurnRunner(builder(summaries=storage.summaries).compile(checkpointer=InMemorySaver()))
        for number in range(1, 6):
            await runner.ainvoke(said(number), THREAD, context=ANN)
        await runner.aclose()
        assert (await storage.summaries.get("ann", "t")).rounds == 5

"""A chat made of `interrupt()`: the run never ends, each message of the user's is an answer to a question."""

from __future__ import annotations

import re
import struct
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from testkit.houses import House

pytestmark = pytest.mark.slow


class Loop:
    """The model answers, the graph waits for the user, and so on."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.seen: list[tuple[str, str]] = []

    def graph(self, saver: Any, *responses: Any) -> Any:
        model = self.house.model(*responses)

        def answer(state: MessagesState) -> dict[str, Any]:
            self.seen = self.house.told(state["messages"])
            return {"messages": [model.invoke(state["messages"])]}

        def wait(state: MessagesState) -> dict[str, Any]:
            return {"messages": [HumanMessage(interrupt({"prompt": self.house.raw("prompt")}))]}

        builder = StateGraph(MessagesState)
        builder.add_node("answer", answer)
        builder.add_node("wait", wait)
        builder.add_edge(START, "answer")
        builder.add_edge("answer", "wait")
        builder.add_edge("wait", "answer")
        return builder.compile(checkpointer=saver)


@pytest.fixture
def loop(house: House) -> Loop:
    return Loop(house)


async def test_a_process_that_goes_on_tells_another_all_of_it_at_each_pause(house, run, loop):
    expected: list[tuple[str, str]] = []
    given: Any = {"messages": [house.user("one")]}
    async with house.saver() as saver:
        for what in ("one", "two", "three"):
            graph = loop.graph(saver, house.answer(f"re{what}"))
            out = await run(graph, given if what == "one" else Command(resume=house.text(what)), house.config)
            expected += [("human", what), ("ai", f"re{what}")]
            assert house.told(out["messages"]) == expected
            assert await house.after_restart(loop.graph) == expected, f"what another process finds after {what!r}"
    house.check()


async def test_after_a_restart_the_conversation_is_there_and_can_be_answered(house, run, loop):
    expected: list[tuple[str, str]] = []
    for what in ("one", "two", "three"):
        async with house.saver() as saver:
            given = {"messages": [house.user(what)]} if what == "one" else Command(resume=house.text(what))
            await run(loop.graph(saver, house.answer(f"re{what}")), given, house.config)
        assert loop.seen == [*expected, ("human", what)], f"what the model saw with {what!r}"
        expected += [("human", what), ("ai", f"re{what}")]
        assert await house.after_restart(loop.graph) == expected, f"after {what!r}"
    house.check()


async def test_after_a_restart_a_new_message_goes_on_too(house, run, loop):
    for what in ("one", "two"):
        async with house.saver() as saver:
            await run(loop.graph(saver, house.answer(f"re{what}")), {"messages": [house.user(what)]}, house.config)
    expected = [("human", "one"), ("ai", "reone"), ("human", "two"), ("ai", "retwo")]
    assert await house.after_restart(loop.graph) == expected
    house.check()


@pytest.mark.parametrize("pin", [4711, 8_461_937_205_118_264_733, 47.11, [4711], {"pin": 4711}], ids=str)
async def test_a_number_given_as_an_answer_is_not_stored(house, run, pin):
    """Two questions in one node: what was answered to the first has to be known when the second is answered."""
    used: list[Any] = []
    number = re.compile(rf"(?<![\w.-]){'4711' if '4711' in str(pin) else pin}(?![\w-])")  # no piece of an id

    def graph(saver: Any) -> Any:
        def ask(state: MessagesState) -> dict[str, Any]:
            used[:] = [interrupt("PIN?"), interrupt("Again?")]
            return {"messages": [house.answer("done")]}

        builder = StateGraph(MessagesState)
        builder.add_node("ask", ask)
        builder.add_edge(START, "ask")
        return builder.compile(checkpointer=saver)

    async with house.saver() as saver:
        asking = graph(saver)
        await run(asking, {"messages": [house.user("ask")]}, house.config)
        await run(asking, Command(resume=pin), house.config)
        assert not number.search(await decoded(house)), "the number is in a row while the second question waits"
        await run(asking, Command(resume=pin), house.config)
    assert used == [pin, pin]
    assert await house.after_restart(graph) == [("human", "ask"), ("ai", "done")]
    assert not number.search(await decoded(house)), "the number is in a row"
    if isinstance(pin, int) and pin > 4711:
        house.check(str(pin), struct.pack(">Q", pin))
    house.check()


async def decoded(house: House) -> str:
    """Return all that LangGraph's own saver can read in the thread; numbers are no text in its rows."""
    async with AsyncPostgresSaver.from_conn_string(house.dsn) as stock:
        found = [each async for each in stock.alist({"configurable": {"thread_id": house.thread}})]
    return repr([(each.checkpoint["channel_values"], each.pending_writes) for each in found])

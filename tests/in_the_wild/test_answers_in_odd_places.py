"""Graphs in which "the last message" is not the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from testkit.houses import House

from discreet.checkpoint import RedactingSaver, Scratch, ScratchLimits


def called(house: House, text: str) -> list[AnyMessage]:
    call = house.call("look_up", beside=text)
    return [call, ToolMessage(house.raw("result"), tool_call_id=call.tool_calls[0]["id"])]


TURNS: dict[str, tuple[Callable[[House], list[list[AnyMessage]]], list[str]]] = {
    "two answers, one after the other": (lambda h: [[h.answer("first")], [h.answer("second")]], ["first", "second"]),
    "two answers at once": (lambda h: [[h.answer("first"), h.answer("second")]], ["first", "second"]),
    "an answer before a system message": (lambda h: [[h.answer("first")], [SystemMessage(h.raw("system"))]], ["first"]),
    "an answer before a human message of a node": (
        lambda h: [[h.answer("first")], [HumanMessage(h.raw("nodehuman"))]],
        ["first"],
    ),
    "an answer before a tool's message": (
        lambda h: [called(h, h.raw("plan")), [h.answer("first")], called(h, "")],
        ["first"],
    ),
    "text beside a call that ends the turn": (
        lambda h: [called(h, h.raw("plan")), [h.call("show", beside=h.text("first"))]],
        ["first"],
    ),
    "an answer that thinks aloud": (
        lambda h: [[AIMessage(f"<think>{h.raw('thought')}</think>{h.text('first')}")]],
        ["first"],
    ),
    "a plan beside a call, then an answer": (lambda h: [called(h, h.raw("plan")), [h.answer("first")]], ["first"]),
}


def graph(saver: Any, steps: list[list[AnyMessage]] | None = None) -> Any:
    builder = StateGraph(MessagesState)
    nodes = [f"step{number}" for number in range(len(steps or [[]]))]
    for name, messages in zip(nodes, steps or [[]], strict=True):
        builder.add_node(name, lambda state, messages=messages: {"messages": messages})
    for one, other in zip([START, *nodes], nodes, strict=False):
        builder.add_edge(one, other)
    return builder.compile(checkpointer=saver)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("name", TURNS)
async def test_what_the_user_saw_is_the_answer(house, run, name):
    steps, answers = TURNS[name]
    async with house.saver() as saver:
        await run(graph(saver, steps(house)), {"messages": [house.user("ask")]}, house.config)
    expected = [("human", "ask"), *[("ai", what) for what in answers]]
    assert await house.after_restart(graph) == expected
    async with house.saver() as saver:
        await run(graph(saver, [[house.answer("fine")]]), {"messages": [house.user("more")]}, house.config)
    assert await house.after_restart(graph) == [*expected, ("human", "more"), ("ai", "fine")]
    house.check()


@pytest.mark.slow
async def test_the_last_closed_turns_stay_whole_in_the_process_that_ran_them(bare_house, run):
    house = bare_house
    async with AsyncPostgresSaver.from_conn_string(house.dsn) as stock:
        await stock.setup()
        saver = RedactingSaver(stock, scratch=Scratch(ScratchLimits(keep_closed=1)))
        await saver.setup()
        for what in ("one", "two"):
            turn = [called(house, ""), [house.answer(f"re{what}")]]
            await run(graph(saver, turn), {"messages": [house.user(what)]}, house.config)
        kinds = [message.type for message in (await graph(saver).aget_state(house.config)).values["messages"]]
        another = await graph(RedactingSaver(stock)).aget_state(house.config)
    assert kinds == ["human", "ai", "human", "ai", "tool", "ai"], "in its process the last turn is whole, and no other"
    expected = [("human", "one"), ("ai", "reone"), ("human", "two"), ("ai", "retwo")]
    assert house.told(another.values["messages"]) == expected, "another process has what is stored"
    house.check()

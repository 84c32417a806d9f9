"""Threads that LangGraph's own saver wrote, going on under ours, and both in turn on one thread."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from testkit.houses import House

from discreet.errors import TransientStateLostError

Messages = list[AnyMessage]


class State(MessagesState, total=False):
    todos: list[dict[str, str]]
    note: str


def with_tool(house: House) -> Messages:
    call = house.call("look_up", beside=house.raw("plan"))
    result = ToolMessage(
        house.raw("result"), tool_call_id=call.tool_calls[0]["id"], artifact={"rows": house.raw("artifact")}
    )
    return [call, result, house.answer("reold")]


def with_thinking(house: House) -> Messages:
    blocks = [
        {"type": "thinking", "thinking": house.raw("thinking"), "signature": "x"},
        {"type": "text", "text": house.text("reold")},
    ]
    return [AIMessage(blocks)]  # type: ignore[arg-type]  # the blocks are LangChain's own


def image(house: House) -> HumanMessage:
    blocks = [
        {"type": "text", "text": house.text("old")},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{house.raw('image')}"}},
    ]
    return HumanMessage(blocks)  # type: ignore[arg-type]  # as above


THREADS: dict[str, tuple[Callable[[House], HumanMessage], Callable[[House], Messages]]] = {
    "plain text": (lambda h: h.user("old"), lambda h: [AIMessage(h.text("reold"))]),
    "tool calls": (lambda h: h.user("old"), with_tool),
    "system messages": (lambda h: h.user("old"), lambda h: [SystemMessage(h.raw("system")), h.answer("reold")]),
    "images": (image, lambda h: [h.answer("reold")]),
    "thinking blocks": (lambda h: h.user("old"), with_thinking),
}


def graph(house: House, saver: Any, messages: Messages) -> Any:
    """Return a graph that says `messages`, plans, and keeps a note."""
    seen: list[list[tuple[str, str]]] = []

    def speak(state: State) -> dict[str, Any]:
        seen.append([pair for pair in house.told(state["messages"]) if pair[1]])
        return {"messages": messages, "todos": [{"content": house.raw("todo")}], "note": house.raw("note")}

    builder = StateGraph(State)
    builder.add_node("speak", speak)
    builder.add_edge(START, "speak")
    compiled = builder.compile(checkpointer=saver)
    compiled.seen = seen
    return compiled


@asynccontextmanager
async def stock(house: House) -> AsyncIterator[AsyncPostgresSaver]:
    async with AsyncPostgresSaver.from_conn_string(house.dsn) as saver:
        await saver.setup()
        yield saver


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("kind", THREADS)
async def test_a_thread_goes_on_and_nothing_raw_is_left_of_it(bare_house, run, kind):
    house = bare_house
    question, answers = THREADS[kind]
    async with stock(house) as saver:
        await run(graph(house, saver, answers(house)), {"messages": [question(house)]}, house.config)
    expected = [("human", "old"), ("ai", "reold")]
    for what in ("one", "two"):
        async with house.saver() as saver:
            await saver.setup()
            ours = graph(house, saver, [house.answer(f"re{what}")])
            await run(ours, {"messages": [house.user(what)]}, house.config)
        assert ours.seen == [[*expected, ("human", what)]], f"what the model saw with {what!r}"
        expected += [("human", what), ("ai", f"re{what}")]
    assert await house.after_restart(lambda saver: graph(house, saver, [])) == expected
    async with house.saver() as saver:
        await saver.aprune([house.thread])
    assert await house.after_restart(lambda saver: graph(house, saver, [])) == expected
    house.check(files=False)  # the write-ahead log has what the stock saver wrote


@pytest.mark.slow
async def test_a_thread_that_stock_paused_takes_a_new_message(bare_house, run):
    house, sent = bare_house, []

    def asking(saver: Any, messages: Messages) -> Any:
        def speak(state: State) -> dict[str, Any]:
            return {"messages": messages}

        def send(state: State) -> dict[str, Any]:
            call = state["messages"][-1].tool_calls[0]
            interrupt(call["args"])
            sent.append(call["args"])
            return {"messages": [ToolMessage(house.raw("result"), tool_call_id=call["id"]), house.answer("done")]}

        builder = StateGraph(State)
        builder.add_node("speak", speak)
        builder.add_node("send", send)
        builder.add_edge(START, "speak")
        builder.add_conditional_edges(
            "speak", lambda state: "send" if getattr(state["messages"][-1], "tool_calls", []) else "__end__"
        )
        return builder.compile(checkpointer=saver)

    async with stock(house) as saver:
        await run(asking(saver, [house.call("send")]), {"messages": [house.user("old")]}, house.config)
    async with house.saver() as saver:
        await saver.setup()
        try:  # the stock saver kept all of the call: to make it and to refuse it are both right
            await run(asking(saver, []), Command(resume="yes"), house.config)
        except TransientStateLostError:
            assert sent == [], "the answer was refused and the tool ran"
        else:
            assert sent == [{"query": house.raw("args")}], "another call than the one that waited"
        await run(asking(saver, [house.answer("fine")]), {"messages": [house.user("more")]}, house.config)
        await saver.aprune([house.thread])
    told = await house.after_restart(lambda saver: asking(saver, []))
    expected = [("human", "old"), *([("ai", "done")] if sent else []), ("human", "more"), ("ai", "fine")]
    assert told == expected
    house.check(lost=["done"], files=False)


@pytest.mark.slow
@pytest.mark.parametrize("first", ["stock", "ours"])
async def test_both_savers_in_turn_on_one_thread(bare_house, run, first):
    """The stock saver doesn't see what is stored by row (docs/checkpointer.md); ours has to see what was said since."""
    house = bare_house
    order = ["stock", "ours", "stock", "ours"] if first == "stock" else ["ours", "stock", "ours", "stock", "ours"]
    async with stock(house):
        pass  # its tables were first, so that the constraint is not set
    for number, who in enumerate(order):
        what = "abcde"[number]
        async with stock(house) if who == "stock" else house.saver() as saver:
            await saver.setup()
            both = graph(house, saver, [*with_tool(house)[:2], house.answer(f"re{what}")])
            await run(both, {"messages": [house.user(what)]}, house.config)
        assert both.seen[0][-1] == ("human", what)
        if number and who == "ours":
            last = "abcde"[number - 1]
            assert both.seen[0][-3:-1] == [("human", last), ("ai", f"re{last}")], (
                "what the stock saver wrote is not seen"
            )
    told = await house.after_restart(lambda saver: graph(house, saver, []))
    expected = [
        pair for what in "abcde"[len(order) - 2 : len(order)] for pair in (("human", what), ("ai", f"re{what}"))
    ]
    assert told[-4:] == expected
    async with house.saver() as saver:
        await saver.aprune([house.thread])
    house.check(files=False, lost=["old", "reold", *[w for what in "abcde" for w in (what, f"re{what}")]])

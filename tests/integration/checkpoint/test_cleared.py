"""A graph that clears its conversation, in every way that there is: what went doesn't come back, as over LangGraph's own saver."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from discreet.checkpoint import RedactingSaver

THREAD: dict[str, Any] = {"configurable": {"thread_id": "1"}}
REMOVE_ALL = RemoveMessage(id=REMOVE_ALL_MESSAGES)

CLEARINGS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "nothing stays": lambda _: [REMOVE_ALL],
    "one by one": lambda there: [RemoveMessage(id=message.id) for message in there],
    "all but the last": lambda there: [REMOVE_ALL, there[-1]],
    "the model says so": lambda _: [REMOVE_ALL, AIMessage("Cleared.")],
    "one by one, and the model says so": lambda there: [
        *(RemoveMessage(id=m.id) for m in there),
        AIMessage("Cleared."),
    ],
    "the system says so": lambda _: [REMOVE_ALL, SystemMessage("Conversation was reset."), AIMessage("Cleared.")],
    "a human message says so": lambda _: [REMOVE_ALL, HumanMessage("Conversation was reset.")],
    "a human message and the model say so": lambda _: [
        REMOVE_ALL,
        HumanMessage("Conversation was reset."),
        AIMessage("Cleared."),
    ],
    "one by one, and a human message says so": lambda there: [
        *(RemoveMessage(id=message.id) for message in there),
        HumanMessage("Conversation was reset."),
        AIMessage("Cleared."),
    ],
}


class Chat:
    """Answers each message; `/clear` clears. It notes what each turn begins with."""

    def __init__(self, clear: Callable[[list[Any]], list[Any]]) -> None:
        self.clear = clear
        self.began: list[list[str]] = []
        self.fails = False

    def over(self, saver: Any) -> Any:
        builder = StateGraph(MessagesState)
        builder.add_node("answer", self.answer)
        builder.add_node("after", self.after)
        builder.add_edge(START, "answer")
        builder.add_edge("answer", "after")
        return builder.compile(checkpointer=saver)

    def answer(self, state: MessagesState) -> Any:
        messages = state["messages"]
        self.began.append([str(message.text) for message in messages])
        if messages[-1].text in {"/clear", "clear and fail"}:
            return {"messages": self.clear(messages)}
        return {"messages": [AIMessage(f"answer to {messages[-1].text}")]}

    def after(self, state: MessagesState) -> Any:
        if self.fails:
            raise LookupError
        return {}

    async def play(self, saver: Callable[[], Any], durability: Any, turns: list[str]) -> list[str]:
        """Have the turns, each in a process of its own; return what the last one began with."""
        for text in turns:
            self.fails = "fail" in text
            with pytest.raises(LookupError) if self.fails else nullcontext():
                await self.over(saver()).ainvoke({"messages": [HumanMessage(text)]}, THREAD, durability=durability)
        return self.began[-1]


@pytest.fixture(params=["memory", "postgres", "shared tables"])
async def inner(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """Yield the saver behind ours; in shared tables other savers find the conversation as they store it themselves."""
    if request.param == "memory":
        yield InMemorySaver()
        return
    shared = request.param == "shared tables"
    dsn = request.getfixturevalue("empty_database" if shared else "database")
    async with AsyncPostgresSaver.from_conn_string(dsn) as saver:
        if shared:
            await saver.setup()
            await RedactingSaver(saver).setup()
        yield saver


def old(texts: list[str]) -> list[str]:
    """Return which words of before the clearing are there."""
    return [text for text in texts if "one" in text or "two" in text or text == "/clear"]


@pytest.mark.fast_cases(6)
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("restarts", [True, False])
@pytest.mark.parametrize("way", CLEARINGS)
async def test_what_a_graph_cleared_does_not_come_back(way, restarts, durability, inner):
    turns = ["one", "two", "/clear", "three", "four"]
    stock, chat = Chat(CLEARINGS[way]), Chat(CLEARINGS[way])
    one = InMemorySaver()
    expected = await stock.play(lambda: one, durability, turns)
    ours = RedactingSaver(inner)
    seen = await chat.play(lambda: RedactingSaver(inner) if restarts else ours, durability, turns)
    assert old(seen) == old(expected)
    assert seen[-3:] == expected[-3:] == ["three", "answer to three", "four"]
    told = (await chat.over(RedactingSaver(inner)).aget_state(THREAD)).values["messages"]
    assert old([str(message.text) for message in told]) == old(expected)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_what_was_cleared_stays_so_when_the_next_turn_fails(durability, inner):
    chat = Chat(CLEARINGS["a human message and the model say so"])
    seen = await chat.play(lambda: RedactingSaver(inner), durability, ["one", "/clear", "fail", "three"])
    assert old(seen) == []


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_what_was_cleared_stays_so_when_its_own_turn_fails(durability, inner):
    chat, saver = Chat(CLEARINGS["a human message and the model say so"]), RedactingSaver(inner)
    await chat.play(lambda: saver, durability, ["one", "clear and fail", "three"])
    assert old(await chat.play(lambda: RedactingSaver(inner), durability, ["four"])) == []


@pytest.mark.parametrize("way", ["nothing stays", "a human message and the model say so"])
async def test_a_caller_clears_too(way, inner):
    chat = Chat(CLEARINGS[way])
    graph = chat.over(RedactingSaver(inner))
    await graph.ainvoke({"messages": [HumanMessage("one")]}, THREAD)
    await graph.aupdate_state(THREAD, {"messages": CLEARINGS[way]([])})
    assert old(await chat.play(lambda: RedactingSaver(inner), "async", ["three"])) == []

"""Texts of 101,000 characters and more: redacted to their end, and kept; beyond a limit refused with nothing stored."""

from __future__ import annotations

from typing import Any

import pytest
from kit.places import rows
from kit.search import Words, search
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from discreet.checkpoint import RedactingSaver
from discreet.errors import InputTooLargeError
from discreet.graph import build_graph
from discreet.graph.middleware import MemoryMiddleware
from discreet.state.context import Context
from discreet.storage import open_storage
from discreet.testing import ScriptedChatModel, StubEmbeddings

FILLER = "Đường phố hôm nay rất đông. "
MAIL = "ann.long@example.com"
TEXT = FILLER * 1_800 + f"mail {MAIL} " + FILLER * 1_810
KEPT = TEXT.replace(MAIL, "<EMAIL>")
CONFIG: Any = {"configurable": {"thread_id": "t", "user_id": "ann"}}
MAILS = Words(values={"mail": MAIL})


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        yield storage


async def saver_of(storage: Any, *, restore: bool = True) -> RedactingSaver:
    saver = RedactingSaver.from_pool(storage.pool, restore=restore)
    await saver.setup()
    return saver


def parrot(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage("Done.")]}


async def read_again(graph: Any) -> str:
    """Return the first message as a process reads it that has not written it."""
    state = await graph.aget_state(CONFIG)
    text: str = state.values["messages"][0].content
    return text


async def test_a_checkpointer_keeps_a_long_message(storage, database):
    graph = StateGraph(MessagesState).add_node("parrot", parrot).add_edge(START, "parrot")
    await graph.compile(checkpointer=await saver_of(storage)).ainvoke({"messages": [HumanMessage(TEXT)]}, CONFIG)
    text = await read_again(graph.compile(checkpointer=await saver_of(storage, restore=False)))
    before, _, after = text.partition("<EMAIL")
    assert (before, after[after.index(">") + 1 :]) == tuple(KEPT.split("<EMAIL>"))
    assert not search(rows(database), MAILS).leaks


def template(model: Any, storage: Any, saver: Any) -> Any:
    return build_graph(chat_model=model, memories=storage.memories, log=storage.log).compile(checkpointer=saver)


def agent(model: Any, storage: Any, saver: Any) -> Any:
    middleware = MemoryMiddleware(memories=storage.memories, log=storage.log, model="offline")
    return create_agent(model, middleware=[middleware], checkpointer=saver)


async def test_what_is_beyond_the_templates_limit_is_refused_by_name_and_told_nowhere(storage, database):
    model = ScriptedChatModel(responses=[AIMessage("Done.")])
    graph = template(model, storage, await saver_of(storage))
    with pytest.raises(InputTooLargeError, match="DISCREET_MAX_INPUT_CHARS"):
        await graph.ainvoke({"messages": [HumanMessage(TEXT)]}, CONFIG, context=Context(user_id="ann"))
    assert model.prompts == []
    assert await storage.log.read("ann") == []
    await graph.ainvoke({"messages": [HumanMessage("Hello")]}, CONFIG, context=Context(user_id="ann"))
    assert [turn.input_text for turn in await storage.log.read("ann")] == ["Hello"]
    state = await graph.aget_state(CONFIG)
    assert [message.text for message in state.values["messages"]] == ["Hello", "Done."]
    assert not search(rows(database), MAILS).leaks


async def test_a_store_keeps_a_long_text(storage, database):
    await storage.store.aput(("notes", "1"), "a", {"text": TEXT})
    assert (await storage.store.aget(("notes", "1"), "a")).value == {"text": KEPT}
    assert not search(rows(database), MAILS).leaks

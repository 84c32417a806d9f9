"""Messages that hold an image, a recording or a file and no word: what stands for them is stored, and no provider refuses it."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from kit.places import rows
from kit.search import Words, search
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.graph.middleware import MemoryMiddleware
from discreet.state.context import Context
from discreet.storage import open_storage
from discreet.testing import StrictChatModel, StubEmbeddings

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(11_992)).decode()
LINK = "https://pictures.test/" + "ann-and-bob"
CONFIG: Any = {"configurable": {"thread_id": "t", "user_id": "ann"}}
MEDIA = {
    "image_url": ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}, "[image/png, 12 kB]"),
    "image": ({"type": "image", "base64": PNG, "mime_type": "image/png"}, "[image/png, 12 kB]"),
    "source": (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        "[image/png, 12 kB]",
    ),
    "input_image": ({"type": "input_image", "image_url": LINK}, "[image]"),
    "url": ({"type": "image", "url": LINK}, "[image]"),
    "file_id": ({"type": "file", "file_id": "file-7"}, "[file]"),
    "file": (
        {"type": "file", "file": {"filename": "ann.pdf", "file_data": f"data:application/pdf;base64,{PNG}"}},
        "[application/pdf, 12 kB]",
    ),
    "audio": ({"type": "input_audio", "input_audio": {"data": PNG, "format": "wav"}}, "[audio/wav, 12 kB]"),
    "video": ({"type": "video", "url": LINK, "mime_type": "video/mp4"}, "[video/mp4]"),
}
HELD = Words(values={"payload": PNG[:40], "link": LINK, "name": "ann.pdf"})


def answered(messages: list[Any]) -> AIMessage:
    return AIMessage(f"Answer {sum(isinstance(each, HumanMessage) for each in messages)}")


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        yield storage


async def saver_of(storage: Any) -> RedactingSaver:
    saver = RedactingSaver.from_pool(storage.pool)
    await saver.setup()
    return saver


def bare(model: Any, saver: Any) -> Any:
    async def talk(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(MessagesState).add_node("talk", talk).add_edge(START, "talk").compile(checkpointer=saver)


async def texts_of(graph: Any) -> list[Any]:
    return [message.content for message in (await graph.aget_state(CONFIG)).values["messages"]]


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("kind", MEDIA)
async def test_a_conversation_goes_on_after_a_medium_without_a_word(storage, database, kind):
    block, told = MEDIA[kind]
    model = StrictChatModel(answer=answered)
    await bare(model, await saver_of(storage)).ainvoke({"messages": [HumanMessage([block])]}, CONFIG)
    assert any(given in repr(model.prompts[0]) for given in (PNG, LINK, "file-7"))
    for saver in (await saver_of(storage), await saver_of(storage)):  # a process each
        await bare(model, saver).ainvoke({"messages": [HumanMessage("And now?")]}, CONFIG)
    assert model.prompts[-1][0].content == told
    assert model.refused == 0
    assert (await texts_of(bare(model, await saver_of(storage))))[:2] == [told, "Answer 1"]
    assert not search(rows(database), HELD).leaks


async def test_an_answer_that_is_a_picture_is_kept_as_one(storage, database):
    picture = {"type": "image", "base64": PNG, "mime_type": "image/png"}
    model = StrictChatModel(answer=lambda messages: AIMessage([picture]))
    for said in ("Draw a bird", "Another one"):
        await bare(model, await saver_of(storage)).ainvoke({"messages": [HumanMessage(said)]}, CONFIG)
    kept = await texts_of(bare(model, await saver_of(storage)))
    assert kept == ["Draw a bird", "[image/png, 12 kB]", "Another one", "[image/png, 12 kB]"]
    assert not search(rows(database), HELD).leaks


async def test_template_and_middleware_take_an_answer_without_a_word(storage, database):
    picture = {"type": "image", "base64": PNG, "mime_type": "image/png"}
    model = StrictChatModel(answer=lambda messages: AIMessage([picture]))
    middleware = MemoryMiddleware(log=storage.log, model="offline")
    built = build_graph(chat_model=model, log=storage.log)
    for thread, graph in (
        ("t1", built.compile(checkpointer=await saver_of(storage))),
        ("t2", create_agent(model, middleware=[middleware], checkpointer=await saver_of(storage))),
    ):
        config = {"configurable": {"thread_id": thread, "user_id": "ann"}}
        for said in ("Draw a bird", "Another one"):
            await graph.ainvoke({"messages": [HumanMessage(said)]}, config, context=Context(user_id="ann"))
        state = await graph.aget_state(config)
        assert [message.content for message in state.values["messages"]][1::2] == ["[image/png, 12 kB]"] * 2
    assert model.refused == 0
    assert [turn.output_text for turn in await storage.log.read("ann")] == ["[image/png, 12 kB]"] * 4
    assert not search(rows(database), HELD).leaks

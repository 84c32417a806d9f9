"""A thread_id that is none is refused at every door, whoever's checkpointer would store a thread of it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from discreet.errors import InvalidThreadError
from discreet.graph import TurnRunner, build_graph
from discreet.graph.middleware import MemoryMiddleware
from discreet.testing import InMemoryShortTermStore, StrictChatModel


def model() -> StrictChatModel:
    return StrictChatModel(answer=lambda messages: AIMessage("Done."))


def template(saver: Any) -> Any:
    return build_graph(chat_model=model()).compile(checkpointer=saver)


def agent(saver: Any) -> Any:
    return create_agent(model(), middleware=[MemoryMiddleware(model=model())], checkpointer=saver)


def runner(saver: Any) -> Any:
    return TurnRunner(template(saver), short_term=InMemoryShortTermStore())


async def said(graph: Any, thread_id: Any) -> Any:
    config = {"configurable": {"thread_id": thread_id, "user_id": "ann"}}
    return await graph.ainvoke({"messages": [HumanMessage("Hello")]}, config)


@pytest.mark.parametrize("made", [template, agent, runner])
@pytest.mark.parametrize("thread_id", [None, True, 1.5, b"t", ["t"]])
async def test_what_is_no_thread_is_refused(made, thread_id):
    with pytest.raises(InvalidThreadError, match="an int or a UUID"):
        await said(made(InMemorySaver()), thread_id)


@pytest.mark.parametrize("made", [template, agent])
async def test_without_a_checkpointer_none_is_no_thread(made):
    assert (await said(made(None), None))["messages"][-1].text == "Done."

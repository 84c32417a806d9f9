"""What the assistant is there for, without a model provider."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from discreet.checkpoint import RedactingSaver
from discreet.state.context import Context
from discreet.storage import Storage
from your_assistant.tools import opening_hours


async def say(graph: Any, text: str, *, user: str) -> tuple[str, dict[str, Any]]:
    """Run one turn in a new conversation; return the answer and the config of that."""
    config = {"configurable": {"thread_id": str(uuid4())}}
    state = await graph.ainvoke({"messages": [("user", text)]}, config, context=Context(user_id=user))
    return str(state["messages"][-1].text), config


async def test_a_fact_told_in_one_conversation_is_known_in_another_and_to_nobody_else(graph: Any) -> None:
    await say(graph, "I keep two African Grey parrots.", user="ann")
    known, _ = await say(graph, "Which birds do I have?", user="ann")
    unknown, _ = await say(graph, "Which birds do I have?", user="bob")
    assert "African Grey parrots" in known
    assert "parrot" not in unknown


async def test_what_is_stored_has_placeholders(graph: Any, storage: Storage) -> None:
    _, config = await say(graph, "My e-mail is ann@example.com", user="carol")
    rows = RedactingSaver.from_storage(storage, restore=False)  # shows what is stored
    stored = await rows.aget_tuple(config)
    assert stored is not None
    assert stored.checkpoint["channel_values"]["messages"][0].text.startswith("My e-mail is <EMAIL:")


async def test_the_model_can_call_our_tool(graph: Any) -> None:
    answer, _ = await say(graph, "/opening_hours place=library", user="dave")
    assert "opening_hours" in answer


def test_the_tool_answers() -> None:
    assert opening_hours.invoke({"place": "The library"}) == "The library is open from 9 to 17."

"""LangChain's `SummarizationMiddleware`: what it made of a long conversation is what the next turns see, as over LangGraph's own saver."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from discreet.checkpoint import CheckpointPolicy, RedactingSaver
from discreet.testing import ScriptedChatModel

THREAD: dict[str, Any] = {"configurable": {"thread_id": "1"}}
FACT = "parrot 4711"
TURNS = 40


class Summarizer:
    """Sums messages up by the fact that they tell."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, messages: Any) -> str:
        self.calls += 1
        found = re.search(FACT, " ".join(str(message.text) for message in messages))
        return f"They have a {found[0]}; write to ann@example.com." if found else "They talked."


async def told(saver: Callable[[], Any], durability: Any) -> tuple[list[bool], int]:
    """Have 40 turns; return which prompts had the fact that the first one told, and how many summaries were made."""
    summarizer = Summarizer()
    model = ScriptedChatModel(responses=[AIMessage(f"answer {number}") for number in range(TURNS)])
    middleware = SummarizationMiddleware(
        model, trigger=("messages", 10), keep=("messages", 4), summarizer=summarizer, trim_tokens_to_summarize=None
    )
    for number in range(TURNS):
        graph = create_agent(model, [], checkpointer=saver(), middleware=[middleware])
        said = f"I have a {FACT}" if number == 0 else f"question {number}"
        await graph.ainvoke({"messages": [HumanMessage(said)]}, THREAD, durability=durability)
    return [any(FACT in str(message.text) for message in prompt) for prompt in model.prompts], summarizer.calls


@pytest.fixture(params=["memory", "postgres"])
async def open_saver(request: pytest.FixtureRequest) -> AsyncIterator[Callable[[], Any]]:
    """Yield what makes savers over the same rows."""
    if request.param == "memory":
        inner = InMemorySaver()
        yield lambda **options: RedactingSaver(inner, **options)
        return
    dsn = request.getfixturevalue("database")
    async with (
        RedactingSaver.from_conn_string(dsn) as saver,
        RedactingSaver.from_conn_string(dsn, restore=False) as bare,
    ):
        yield lambda restore=True: saver if restore else bare


async def test_a_fact_of_the_first_turn_is_in_as_many_prompts_as_over_the_stock_saver(open_saver, durability):
    stock = InMemorySaver()
    expected, calls = await told(lambda: stock, durability)
    seen, made = await told(open_saver, durability)
    assert (sum(seen), made) == (sum(expected), calls)
    assert all(seen)


async def test_a_summary_is_stored_redacted_and_is_nobodys_words(open_saver, durability):
    await told(open_saver, durability)
    model = ScriptedChatModel(responses=[])
    graph = create_agent(model, [], checkpointer=open_saver(restore=False))
    stored: list[BaseMessage] = (await graph.aget_state(THREAD)).values["messages"]
    assert stored[0].additional_kwargs == {"lc_source": "summarization"}
    assert FACT in stored[0].text
    assert "ann@example.com" not in str(stored)
    assert "<EMAIL" in stored[0].text


async def test_without_summaries_what_they_replaced_stays(durability):
    inner = InMemorySaver()
    seen, _ = await told(lambda: RedactingSaver(inner, policy=CheckpointPolicy(summaries=False)), durability)
    assert all(seen)
    model = ScriptedChatModel(responses=[])
    graph = create_agent(model, [], checkpointer=RedactingSaver(inner, policy=CheckpointPolicy(summaries=False)))
    stored = (await graph.aget_state(THREAD)).values["messages"]
    assert len(stored) == 2 * TURNS
    assert not any(message.additional_kwargs for message in stored)

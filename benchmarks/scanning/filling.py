"""Fill a database by a real agent under LangGraph's own saver and store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

AT_ONCE = 8
WORDS = [
    "the",
    "order",
    "was",
    "sent",
    "to",
    "her",
    "on",
    "Monday",
    "and",
    "costs",
    "twelve",
    "dollars",
    "a",
    "piece",
    "while",
    "we",
    "wait",
    "for",
    "an",
    "answer",
    "from",
    "Hanoi",
]


class _Scripted(GenericFakeChatModel):
    """A model that says what it is told, and takes tools."""

    def bind_tools(self, *_tools: Any, **_options: Any) -> _Scripted:
        """Return itself."""
        return self


async def fill(dsn: str, *, threads: int, turns: int, result_chars: int) -> None:
    """Run conversations of some turns, in each of which a tool is called once, and put an item a thread into the store."""
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncConnectionPool(dsn, max_size=AT_ONCE, kwargs=options, open=False) as pool:
        await AsyncPostgresSaver(pool).setup()
        async with AsyncPostgresStore.from_conn_string(dsn) as store:
            await store.setup()
            for number in range(threads):
                await store.aput(("memories", f"user-{number}"), "1", {"text": f"Writes from user{number}@example.com"})
        room = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> None:
            async with room:
                await _talk(AsyncPostgresSaver(pool), number, turns=turns, result_chars=result_chars)

        await asyncio.gather(*map(one, range(threads)))


async def _talk(saver: AsyncPostgresSaver, number: int, *, turns: int, result_chars: int) -> None:
    chance = Random(number)

    def text(chars: int) -> str:
        return " ".join(chance.choices(WORDS, k=max(1, chars // 5)))

    @tool
    def look_up(question: str) -> str:
        """Look something up."""
        return f"{question}: {text(result_chars)}; call +1 202 456 {chance.randrange(1000, 9999)}"

    def said() -> Iterator[AIMessage]:
        for turn in range(turns):
            call = {"name": "look_up", "args": {"question": f"order {turn}"}, "id": f"call_{number:06}x{turn:04}"}
            yield AIMessage("", tool_calls=[call])
            yield AIMessage(text(200))

    agent = create_agent(_Scripted(messages=said()), [look_up], system_prompt=text(400), checkpointer=saver)
    for turn in range(turns):
        message = HumanMessage(f"I am user{number}@example.com, {text(120)} {turn}")
        await agent.ainvoke({"messages": [message]}, {"configurable": {"thread_id": f"thread-{number}"}})

"""Turns of the whole graph in one process, with the offline model, and its stores timed: `python -m loading.inside`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import HumanMessage
from loading.crowd import FIRST, Pace, Said, come
from loading.stub_embedding import DIMS
from loading.tally import Kept, Tally, message_id

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.state.context import Context
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

OPERATIONS: Mapping[tuple[str, str], str] = {
    ("memories", "search"): "search",
    ("log", "append"): "log write",
    ("short_term", "append_round"): "short-term write",
    ("short_term", "recent_rounds"): "short-term read",
}


class _Timed:
    """Times the methods that are operations of the service levels."""

    def __init__(self, part: Any, name: str, tally: Tally) -> None:
        self._part, self._name, self._tally = part, name, tally

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        operation = OPERATIONS.get((self._name, name))
        if operation is None:
            return found

        async def call(*args: Any, **options: Any) -> Any:
            return await self._tally.timed(operation, found(*args, **options))

        return call


async def talk(dsn: str, pace: Pace) -> Tally:
    """Let people talk with the graph."""
    tally = Tally()
    async with open_storage(dsn, embeddings=StubEmbeddings(DIMS)) as storage:
        saver = RedactingSaver.from_pool(storage.pool)
        await saver.setup()
        parts = {name: _Timed(getattr(storage, name), name, tally) for name in ("memories", "log", "short_term")}
        builder = build_graph(chat_model="offline", summaries=storage.summaries, **parts)  # type: ignore[arg-type]  # stand-ins
        graph = builder.compile(checkpointer=saver)

        async def say(number: int, said: Said) -> None:
            user, thread = f"user {number}", f"thread {number}"
            given = {"messages": [HumanMessage(said.content, id=message_id(said.mark))]}
            config = {"configurable": {"thread_id": thread}}
            turn = graph.ainvoke(given, config, context=Context(user_id=user))  # type: ignore[arg-type]  # a RunnableConfig
            if await tally.timed("turn", turn) is not None:
                tally.messages += 1
                tally.kept.append(Kept(user, thread, said.mark))
            await parts["short_term"].recent_rounds(user, thread, limit=6)

        await come(FIRST, say, tally)
        tally.clear()
        return await come(pace, say, tally)


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    read = Pace(**{**asked["pace"], "wait_seconds": tuple(asked["pace"]["wait_seconds"])})
    json.dump(asyncio.run(talk(asked["dsn"], read)).as_dict(), sys.stdout)

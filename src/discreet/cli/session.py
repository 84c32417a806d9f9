"""Run coroutines from a command that also waits for keys and child processes in its main thread."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from rich.console import Console

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.settings import Settings, load_settings
from discreet.state.context import Context
from discreet.storage import Storage, open_storage


@dataclass(frozen=True)
class Session:
    """An open storage and the event loop that it lives on."""

    storage: Storage
    runner: asyncio.Runner


@contextmanager
def opened_storage(console: Console, settings: Settings | None = None) -> Iterator[Session]:
    """Open the storage, with a note on the console while that takes its time.

    Raises:
        StorageError: The database can't be used.
    """
    settings = settings or load_settings()
    where = "your PostgreSQL" if settings.postgres_dsn else f"the embedded database in {settings.data_dir}"
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        with console.status(f"Starting {where}…"):
            storage = runner.run(stack.enter_async_context(open_storage(settings=settings)))
        try:
            yield Session(storage, runner)
        finally:
            runner.run(stack.aclose())


async def compiled_graph(
    storage: Storage, *, settings: Settings | None = None, chat_model: str | None = None, tools: Sequence[BaseTool] = ()
) -> CompiledStateGraph[Any, Context, Any, Any]:
    """Return the template over `storage`, with its checkpointer.

    Raises:
        ConfigurationError: The model's name is unknown.
    """
    builder = build_graph(
        chat_model=chat_model, memories=storage.memories, log=storage.log, tools=tools, settings=settings
    )
    saver = RedactingSaver.from_pool(storage.pool)
    await saver.setup()
    return builder.compile(checkpointer=saver)


def login_name() -> str:
    """Return the name that the person is logged in with, `local` where there is none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "local"

"""`discreet demo`: two conversations of one user, then what is on the disk.

It runs in a folder of its own below the data folder, which it empties first, with the embedded server, the local
embedding and the offline chat model; so it needs no key, and its result does not depend on what was there before.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph.state import CompiledStateGraph
from psycopg import AsyncConnection
from rich.console import Console
from rich.markup import escape

from discreet.access.identity import IDENTITY_KEY
from discreet.cli.folders import check_data_folder
from discreet.cli.planted import search_folder
from discreet.errors import ConfigurationError
from discreet.graph.compiled import compiled_graph
from discreet.settings import Settings, load_settings
from discreet.state.context import Context
from discreet.storage import open_storage
from discreet.storage.database.readable_rows import readable_tables

KEEP = "African Grey parrots"


def run_demo() -> int:
    """Run the demonstration; return 0 if the fact was recalled and no planted value is on the disk, else 1."""
    console = Console(highlight=False)
    loaded = load_settings()
    settings = loaded.model_copy(
        update={
            "data_dir": loaded.data_dir / "demo",
            "postgres_dsn": None,
            "chat_model": "offline",
            "embedding_model": "local",
        }
    )
    check_data_folder(settings)
    _empty(settings.data_dir)
    planted = {
        "email": f"ann.{secrets.token_hex(4)}@example.com",
        "phone": f"+1 212 555 {secrets.randbelow(9000) + 1000}",
        "API key": f"sk-{secrets.token_hex(24)}",
        "tool result": f"WAREHOUSE-{secrets.token_hex(6)}",
    }
    recalled = asyncio.run(_conversations(console, settings, planted))
    return _verdict(console, settings.data_dir, planted, recalled=recalled)


def _empty(folder: Path) -> None:
    """Remove what an earlier demonstration left in `folder`.

    Raises:
        ConfigurationError: It holds something else, which is not ours to remove, or it belongs to another user.
    """
    try:
        if not folder.exists():
            return
        if any(not child.name.startswith(("postgres-", IDENTITY_KEY.name)) for child in folder.iterdir()):
            raise ConfigurationError(
                f"The demonstration empties {folder}, and something else lies there. Choose another DISCREET_DATA_DIR."
            )
        shutil.rmtree(folder)
    except OSError as error:
        raise ConfigurationError(
            f"{folder} can't be emptied: {error.strerror}. Choose another DISCREET_DATA_DIR."
        ) from error


async def _conversations(console: Console, settings: Settings, planted: dict[str, str]) -> bool:
    """Hold both conversations, print the tables, and return whether the second recalled what the first told."""

    @tool
    def lookup_order(order_id: str) -> str:
        """Look up where an order is."""
        return f"{order_id} lies in {planted['tool result']}"

    async with open_storage(settings=settings) as storage:
        graph = await compiled_graph(storage, settings=settings, tools=[lookup_order])
        told = [
            f"I keep two {KEEP}, and my e-mail is {planted['email']}.",
            "/lookup_order order_id=A17",
            f"Call me on {planted['phone']} when the parcel is here.",
            f"My API key is {planted['API key']}, remember it.",
        ]
        await _thread(console, graph, "First conversation", told)
        answers = await _thread(console, graph, "Second conversation, same user", ["Which birds do I have?"])
        await _print_tables(console, storage.access.owner.dsn)
    return any(KEEP in answer for answer in answers)


async def _thread(
    console: Console, graph: CompiledStateGraph[Any, Any, Any, Any], title: str, turns: Sequence[str]
) -> list[str]:
    console.rule(title)
    thread: RunnableConfig = {"configurable": {"thread_id": str(uuid4())}}
    answers = []
    for text in turns:
        console.print(f"[bold]you ›[/bold] {escape(text)}")
        state = await graph.ainvoke({"messages": [HumanMessage(text)]}, thread, context=Context(user_id="ann"))
        answers.append(str(state["messages"][-1].text))
        console.print(f"[bold]assistant ›[/bold] {escape(answers[-1])}\n")
    return answers


async def _print_tables(console: Console, dsn: str) -> None:
    console.rule("What PostgreSQL holds now")
    async with await AsyncConnection.connect(dsn) as connection:
        async for table in readable_tables(connection):
            shown = "" if len(table.rows) == table.count else f", the last {len(table.rows)}"
            console.print(f"[bold]{table.name}[/bold]: {table.count} rows{shown}")
            for row in table.rows:
                cells = " · ".join(f"[dim]{column}[/dim] {escape(value)}" for column, value in row.items())
                console.print(f"  {cells}", soft_wrap=True)


def _verdict(console: Console, data_dir: Path, planted: dict[str, str], *, recalled: bool) -> int:
    """Search the files of the stopped server, and say what was found."""
    console.rule("A byte search of the data folder")
    search = search_folder(data_dir, {**planted, "the fact": KEEP})
    console.print(
        f"{search.files} files, {search.size / 1e6:.1f} MB below {data_dir}: heap, write-ahead log, server log"
    )
    leaked = [name for name in planted if name in search.found]
    for name in planted:
        console.print(f"  {'[red]FOUND' if name in leaked else '[green]not found'}[/] {name}")
    kept = "the fact" in search.found
    console.print(
        f"  {'[green]found' if kept else '[red]NOT FOUND'}[/] the fact, as it must be (so the search does find things)"
    )
    console.print(f"  {'[green]recalled' if recalled else '[red]NOT RECALLED'}[/] in the second conversation")
    return 0 if recalled and kept and not leaked else 1

"""`discreet demo`: two conversations of one user, and what of them is on the disk.

It runs in a folder of its own below the data folder, which it empties first, with the embedded server, the local
embedding and the offline chat model; so it needs no key, and its result does not depend on what was there before.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph.state import CompiledStateGraph
from psycopg import AsyncConnection
from rich.console import Console
from rich.text import Text

from discreet.access.identity import IDENTITY_KEY
from discreet.cli.folders import check_data_folder
from discreet.cli.planted import search_folder
from discreet.errors import ConfigurationError
from discreet.graph.compiled import compiled_graph
from discreet.graph.streams import PromptWatch, answer_of
from discreet.redaction.placeholder_key import PLACEHOLDER_KEY
from discreet.settings import Settings, embedded_only, load_settings, use_data_folder
from discreet.state.context import Context
from discreet.state.message_text import text_of
from discreet.storage import Storage, open_storage
from discreet.storage.database.readable_rows import readable_tables

KEEP = "African Grey parrots"
USER = "ann"
TOOL = "lookup_order"


@dataclass
class Round:
    """One turn as it is told."""

    said: str
    got: str = field(default="", repr=False)
    """Of what the model got, the user's words."""
    tool_said: str = field(default="", repr=False)
    """What our own tool returned to it."""
    answer: str = ""
    recalled: Sequence[dict[str, Any]] = ()
    stored: str = ""

    def hear(self, prompt: Sequence[BaseMessage]) -> None:
        """Take what the model is asked."""
        for message in prompt:
            if isinstance(message, HumanMessage):
                self.got, self.tool_said = text_of(message), ""
            elif isinstance(message, ToolMessage) and message.name == TOOL:
                self.tool_said = text_of(message)


def run_demo(*, rows: bool = False) -> int:
    """Run the demonstration; return 0 if the fact was recalled and no planted value is on the disk, else 1.

    With `rows` all tables are printed too.
    """
    console = Console(highlight=False)
    settings = fresh_folder().model_copy(update={"chat_model": "offline", "embedding_model": "local"})
    planted = {
        "e-mail": f"ann.{secrets.token_hex(3)}@example.com",
        "phone": f"+1 212 555 {secrets.randbelow(9000) + 1000}",
        "API key": f"sk-{secrets.token_hex(24)}",
        "tool result": f"WAREHOUSE-{secrets.token_hex(6)}",
    }
    recalled = asyncio.run(_conversations(console, settings, planted, rows=rows))
    return _verdict(console, settings.data_dir, planted, recalled=recalled, rows=rows)


def fresh_folder() -> Settings:
    """Return the settings of a demonstration, which go for this process and those that it starts: its own data folder is empty.

    Raises:
        ConfigurationError: The folder can't be written to, or holds something that is not ours to remove.
    """
    use_data_folder(load_settings().data_dir / "demo")
    settings = embedded_only(load_settings())
    check_data_folder(settings)
    _empty(settings.data_dir)
    return settings


def _empty(folder: Path) -> None:
    """Remove what an earlier demonstration left in `folder`.

    Raises:
        ConfigurationError: It holds something else, which is not ours to remove, or it belongs to another user.
    """
    ours = ("postgres-", IDENTITY_KEY.name, PLACEHOLDER_KEY.name)
    try:
        if not folder.exists():
            return
        if any(not child.name.startswith(ours) for child in folder.iterdir()):
            raise ConfigurationError(
                f"The demonstration empties {folder}, and something else lies there. Choose another DISCREET_DATA_DIR."
            )
        shutil.rmtree(folder)
    except OSError as error:
        raise ConfigurationError(
            f"{folder} can't be emptied: {error.strerror}. Choose another DISCREET_DATA_DIR."
        ) from error


async def _conversations(console: Console, settings: Settings, planted: dict[str, str], *, rows: bool) -> bool:
    """Hold both conversations, tell them, and return whether the second recalled what the first told."""

    @tool
    def lookup_order(order_id: str) -> str:
        """Look up where an order is."""
        return f"{order_id} lies in {planted['tool result']}"

    first = [
        Round(f"I keep two {KEEP}; mail: {planted['e-mail']}."),
        Round(f"Call {planted['phone']}. My API key is {planted['API key']}."),
        Round("/lookup_order order_id=A17"),
    ]
    second = [Round("Which birds do I have?")]
    async with open_storage(settings=settings) as storage:
        with console.status("Two conversations, with the embedded database and the offline model …"):
            await storage.memories.search(
                USER, "warm"
            )  # loads the embedding, for which a turn waits two seconds at most
            graph = await compiled_graph(storage, settings=settings, tools=[lookup_order])
            for conversation in (first, second):
                await _hold(graph, conversation)
            await _look_up(storage, [*first, *second])
        _tell(console, first, second, secret=planted["API key"])
        if rows:
            await _print_tables(console, storage.access.owner.dsn)
    return any(KEEP in each.answer for each in second)


def _tell(console: Console, first: Sequence[Round], second: Sequence[Round], *, secret: str) -> None:
    """Print both conversations; of `secret` its beginning alone."""

    def line(label: str, text: str, note: str = "", *, style: str = "") -> None:
        short = text.replace(secret, f"{secret[:8]}…")
        words = Text.assemble((f"  {label:<10}", "bold"), (short, style), (f"  ({note})" if note else "", "dim"))
        console.print(words)

    console.rule("A first conversation", align="left")
    for number, each in enumerate(first):
        if number:
            console.print()
        line("you wrote", each.said)
        if each.tool_said:
            line("tool said", each.tool_said)
            line("on disk", each.stored, "and nothing of the tool", style="green")
        else:
            line("model got", each.got)
            line("on disk", each.stored, style="green")
    console.rule("A second one, of the same user", align="left")
    for each in second:
        line("you wrote", each.said)
        for memory in each.recalled[:1]:
            line("recalled", memory["text"], f"similarity {memory['relevance']:.2f}", style="green")
        line("answer", each.answer)


async def _hold(graph: CompiledStateGraph[Any, Any, Any, Any], conversation: Sequence[Round]) -> None:
    thread_id = str(uuid4())
    for each in conversation:
        config: RunnableConfig = {"configurable": {"thread_id": thread_id}, "callbacks": [PromptWatch(each.hear)]}
        given = {"messages": [HumanMessage(each.said)]}
        async for event in graph.astream(given, config, context=Context(user_id=USER), stream_mode="updates"):
            each.recalled = (event.get("retrieve_memories") or {}).get("memories", each.recalled)
            each.answer = answer_of(event) or each.answer


async def _look_up(storage: Storage, rounds: Sequence[Round]) -> None:
    """Note of each round what the log has of it."""
    async with await AsyncConnection.connect(storage.access.owner.dsn) as connection:
        async for table in readable_tables(connection, user_key=storage.background.key_of(USER)):
            if table.name.endswith(".conversation_log"):
                for each, row in zip(rounds, table.rows, strict=True):
                    each.stored = row["input_text"]


async def _print_tables(console: Console, dsn: str) -> None:
    console.rule("What PostgreSQL holds now", align="left")
    async with await AsyncConnection.connect(dsn) as connection:
        async for table in readable_tables(connection):
            shown = "" if len(table.rows) == table.count else f", the last {len(table.rows)}"
            console.print(f"[bold]{table.name}[/bold]: {table.count} rows{shown}")
            for row in table.rows:
                cells = (Text.assemble((column, "dim"), " ", value) for column, value in row.items())
                console.print(Text("  ") + Text(" · ").join(cells), soft_wrap=True)


def _verdict(console: Console, data_dir: Path, planted: dict[str, str], *, recalled: bool, rows: bool) -> int:
    """Search the files of the stopped server, and say what was found."""
    search = search_folder(data_dir, {**planted, "the fact": KEEP})
    console.rule("On the disk, byte by byte", align="left")
    console.print(
        f"  {search.files:,} files, {search.size / 1e6:.1f} MB: heap, write-ahead log, server log, keys", style="dim"
    )
    leaked = [name for name in planted if name in search.found]
    clean = [name for name in planted if name not in search.found]
    if clean:
        console.print(f"  [green]not found[/] {' · '.join(clean)}")
    if leaked:
        console.print(f"  [red]FOUND[/] {' · '.join(leaked)}")
    kept = "the fact" in search.found
    console.print(
        f"  {'[green]found[/]    ' if kept else '[red]NOT FOUND[/]'} the fact, so the search does find things"
    )
    console.print(f"  {'[green]recalled[/] ' if recalled else '[red]NOT RECALLED[/]'} in the second conversation")
    if not rows:
        console.print("All rows: discreet demo --rows. In a browser: discreet demo --web.", style="dim")
    return 0 if recalled and kept and not leaked else 1

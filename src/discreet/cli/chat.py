"""`discreet chat`: the template in a terminal, with what it recalls and stores in sight."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterable
from typing import Any
from uuid import uuid4

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from rich.console import Console

from discreet.access.sensitive_ids import default_sensitive_ids
from discreet.cli.session import Session, login_name, opened_storage
from discreet.cli.terminal import plain
from discreet.errors import DiscreetError
from discreet.graph import TurnRunner, drain
from discreet.graph.compiled import compiled_graph
from discreet.graph.streams import answer_of, piece_of
from discreet.state.context import Context
from discreet.state.message_text import text_of
from discreet.state.reasoning import SpokenStream

HELP = "/new starts a new conversation, /quit ends. What you type is redacted on disk."


class TerminalChat:
    """One person at one terminal."""

    def __init__(
        self, console: Console, session: Session, *, user: str, thread: str | None = None, model: str | None = None
    ) -> None:
        """Build the graph over the session's storage.

        Raises:
            ConfigurationError: The model's name is unknown.
            InvalidUserError: `user` can't key a person's memories.
            SensitiveIdError: `user` or `thread` holds a sensitive value, and the settings refuse such ids.
        """
        self.console = console
        self.runner = session.runner
        ids = default_sensitive_ids()
        self.context = Context(user_id=ids.user_id(user))
        self.thread = ids.thread_id(thread) if thread else str(uuid4())
        self.turns = TurnRunner(session.runner.run(compiled_graph(session.storage, chat_model=model)))

    def run(self) -> None:
        """Read lines until the end of input or /quit."""
        self.console.print(f"[dim]{HELP}[/dim]", highlight=False)
        while (text := self._ask()) not in ("/quit", "/exit"):
            if text == "/new":
                self.thread = str(uuid4())
                self.console.print("[dim]A new conversation.[/dim]")
            elif text == "/help":
                self.console.print(f"[dim]{HELP}[/dim]", highlight=False)
            elif text:
                self._guarded_turn(text)

    def _ask(self) -> str:
        try:
            return self.console.input("[bold]you ›[/bold] ").strip()
        except (EOFError, KeyboardInterrupt):
            self.console.print()
            return "/quit"

    def _guarded_turn(self, text: str) -> None:
        """Run a turn; an error or Ctrl-C ends the turn and not the chat."""
        try:
            self.runner.run(self.turn(text))
        except DiscreetError as error:
            self.console.print(f"[red]{plain(str(error))}[/red]", highlight=False)
        except Exception as error:  # noqa: BLE001  # each provider's client has errors of its own, and the chat goes on
            self.console.print(f"[red]{plain(f'{type(error).__name__}: {error}')}[/red]", highlight=False)
        except KeyboardInterrupt:
            self.console.print("\n[dim]Stopped.[/dim]")

    async def turn(self, text: str) -> None:
        """Run one turn and print it as it comes; what node and tool both recall is noted once."""
        noted: set[str] = set()
        streamed = False
        async for kind, part in self._stream(text):
            if kind == "token" or (kind == "answer" and not streamed):
                streamed = True
                self.console.print(plain(part), end="", highlight=False, soft_wrap=True)
            elif kind == "answer":
                continue
            elif (note := f"{kind}: {part}") not in noted:
                noted.add(note)
                self.console.print(f"[dim]{plain(note)}[/dim]", highlight=False)
        self.console.print()

    async def _stream(self, text: str) -> AsyncIterator[tuple[str, str]]:
        spoken = SpokenStream()
        async for mode, event in self.turns.astream(
            {"messages": [HumanMessage(text)]},
            {"configurable": {"thread_id": self.thread}},
            context=self.context,
            stream_mode=["messages", "updates"],
        ):
            if mode == "messages":
                if piece := spoken.feed(piece_of(event)):
                    yield "token", piece
                continue
            if rest := spoken.close():
                yield "token", rest
            spoken = SpokenStream()  # a message of the model's is over with its node
            for part in _notes(event):
                yield part


def run_chat(*, user: str | None, thread: str | None, model: str | None) -> None:
    """Open the storage and chat.

    Raises:
        ConfigurationError: The model's name is unknown.
        StorageError: The database can't be used.
    """
    console = Console()
    if sys.stdin.isatty():
        import readline  # noqa: F401  # line editing and history for input()
    try:
        with opened_storage(console) as session:
            TerminalChat(console, session, user=user or login_name(), thread=thread, model=model).run()
            finish(console, session.runner)
    except KeyboardInterrupt:
        console.print("[dim]Stopped.[/dim]")


def finish(console: Console, runner: asyncio.Runner) -> None:
    """Wait for summaries that are under way, and say so; Ctrl-C leaves them to the next turn of their conversation."""
    if not runner.run(drain(0)):
        return
    console.print("[dim]Finishing the summary of the conversation. Ctrl-C leaves it for the next time.[/dim]")
    if runner.run(drain()):
        console.print("[dim]It takes too long: it is begun again the next time.[/dim]")


def _notes(event: Any) -> Iterable[tuple[str, str]]:
    """Say what was recalled and what was stored in one step of the graph."""
    for memory in (event.get("retrieve_memories") or {}).get("memories", ()):
        yield "recalled", f"{memory['text']} ({memory['relevance']:.2f})"
    if answer := answer_of(event):
        yield "answer", answer
    step = event.get("tools")
    messages: list[BaseMessage] = step.get("messages", []) if isinstance(step, dict) else []
    for message in messages:
        if isinstance(message, ToolMessage):
            yield from _tool_notes(message)


def _tool_notes(message: ToolMessage) -> Iterable[tuple[str, str]]:
    """Say what a tool did; of a result that can't be read, nothing."""
    if message.status == "error":
        yield "refused", text_of(message)
        return
    result = _read(text_of(message))
    match message.name:
        case "save_memory" | "update_memory" if isinstance(result.get("text"), str):
            for memory in (result, *_objects(result.get("also"))):
                yield ("stored" if message.name == "save_memory" else "updated"), str(memory.get("text", ""))
        case "recall_memory":
            for memory in _objects(result.get("memories")):
                yield "recalled", f"{memory.get('text', '')} ({memory.get('relevance', '?')})"
        case "forget_memory" if result.get("deleted"):
            if "entry_id" not in result:  # it was said, and never kept
                yield "forgotten", f"what was said of it (rounds: {result.get('rounds', '?')})"
            for memory in (result, *_objects(result.get("also"))):
                if "entry_id" in memory:
                    yield "forgotten", str(memory["entry_id"])


def _read(text: str) -> dict[str, Any]:
    try:
        result = json.loads(text)
    except ValueError:
        return {}
    return result if isinstance(result, dict) else {}


def _objects(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []

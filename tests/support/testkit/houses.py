"""What each house needs: words to plant, a model that plays a script, and a look at all that the database holds."""

from __future__ import annotations

import os
import re
import secrets
import string
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from discreet.checkpoint import RedactingSaver
from discreet.testing.chat_models import Response, ScriptedChatModel

STARTS = re.compile(rb"(?:(?:raw|keep)[a-z]+|anna\.)\Z")
"""What stands before a seal."""


def card_number() -> str:
    """Return a number that looks like a card's: its last digit is right (ISO/IEC 7812-1, Luhn)."""
    digits = [4, 1, 1, 1, *(secrets.randbelow(10) for _ in range(11))]
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[::2]) + sum(digits[1::2])
    text = "".join(map(str, [*digits, -doubled % 10]))
    return " ".join(text[at : at + 4] for at in range(0, 16, 4))


class House:
    """An empty database with the savers' tables, and the words that one test plants.

    `raw` words stand where only structure can keep them out: no redactor knows them. `keep` words stand in what the user
    wrote and saw.
    """

    def __init__(self, dsn: str, server: Path) -> None:
        self.dsn = dsn
        self.clients_dsn = dsn
        """Where savers connect to: a pooler, or as another role."""
        self.seal = "".join(secrets.choice(string.ascii_lowercase) for _ in range(12))
        self.card = card_number()
        self.thread = str(uuid4())
        self._server = server
        self._before = self._stamps()
        self._planted: set[str] = set()

    @property
    def email(self) -> str:
        """An address that is in every message."""
        return f"anna.{self.seal}@example.com"

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the one thread, with a secret in it as callers have it there."""
        return {"configurable": {"thread_id": self.thread, "api_key": self.raw("configurable")}}

    def raw(self, where: str) -> str:
        """Return a word that must not reach the database; `where` is of small letters."""
        return f"raw{where}{self.seal}"

    def keep(self, what: str) -> str:
        """Return a word that must be in the database at the end; `what` is of small letters."""
        self._planted.add(what)
        return f"keep{what}{self.seal}"

    def text(self, what: str) -> str:
        """Return what people write: a word to keep among personal data."""
        return f"It is {self.keep(what)}, write to {self.email}, my card is {self.card}."

    def user(self, what: str, **fields: Any) -> HumanMessage:
        """Return a message of the user's."""
        return HumanMessage(self.text(what), additional_kwargs={"note": self.raw("userkwargs")}, **fields)

    def answer(self, what: str, **fields: Any) -> AIMessage:
        """Return an answer of a model that reasons."""
        content = [{"type": "reasoning", "reasoning": self.raw("reasoning")}, {"type": "text", "text": self.text(what)}]
        return AIMessage(content, response_metadata={"trace": self.raw("metadata")}, **fields)  # type: ignore[arg-type]  # the blocks are LangChain's own

    def call(self, name: str, *, beside: str = "", **args: Any) -> AIMessage:
        """Return a call of the tool `name`; `beside` is what the model says with it."""
        arguments = args or {"query": self.raw("args")}
        call_id = f"call_{self.raw('callid')}{secrets.token_hex(4)}"
        return AIMessage(beside, tool_calls=[{"name": name, "args": arguments, "id": call_id}])

    def model(self, *responses: Response) -> ScriptedChatModel:
        """Return a model that refuses dangling tool calls as providers do."""
        return ScriptedChatModel(responses=responses)

    @asynccontextmanager
    async def saver(self, *arguments: Any, **options: Any) -> AsyncIterator[RedactingSaver]:
        """Open a saver over the database; a second one is what a process has after a restart."""
        async with RedactingSaver.from_conn_string(self.clients_dsn, *arguments, **options) as saver:
            yield saver

    def told(self, messages: Iterable[BaseMessage]) -> list[tuple[str, str]]:
        """Return of each message its type and the words to keep in it."""
        pattern = re.compile(f"keep([a-z]+?){self.seal}")
        return [(message.type, " ".join(pattern.findall(message.text))) for message in messages]

    async def after_restart(self, build: Callable[[Any], Any], *arguments: Any) -> list[tuple[str, str]]:
        """Return what another process finds in the thread; `build` compiles the graph over a saver made of `arguments`."""
        async with self.saver(*arguments) as saver:
            state = await build(saver).aget_state(self.config)
        return self.told(state.values.get("messages", []))

    def on_disk(self, *further: str | bytes, files: bool = True) -> set[str]:
        """Return the planted words, and those of `further`, that are in a row, or in one of the server's `files`.

        The e-mail address and the card number are looked for too.
        """
        known = [word.encode() if isinstance(word, str) else word for word in (*further, self.card)]
        found: set[str] = set()
        for haystack in self._rows() + (self._changed_files() if files else []):
            found.update(self._planted_in(haystack))
            found |= {repr(word) for word in known if word in haystack}
        return found

    def _planted_in(self, haystack: bytes) -> Iterator[str]:
        """Yield each word that ends in the seal, or the start of the address that has it; many times faster than one regex."""
        seal = self.seal.encode()
        place = haystack.find(seal)
        while place >= 0:
            if start := STARTS.search(haystack, max(0, place - 40), place):
                yield f"{start[0].decode()}{self.seal}"
            place = haystack.find(seal, place + 1)

    def check(self, *further: str | bytes, lost: Sequence[str] = (), files: bool = True) -> None:
        """Check that nothing of what is raw or personal is in the database, and all that is to be kept but the `lost`."""
        found = self.on_disk(*further, files=files)
        kept = {f"keep{what}{self.seal}" for what in self._planted}
        leaked = {word.replace(self.seal, "…") for word in found - kept}
        assert leaked == set(), f"these must not be in the database or in a file of its server: {sorted(leaked)}"
        missing = {what for what in self._planted - set(lost) if f"keep{what}{self.seal}" not in found}
        assert missing == set(), f"the user wrote or saw these, and the database lacks them: {sorted(missing)}"

    def _rows(self) -> list[bytes]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            return [row.encode() for row in all_rows(connection)]

    def _changed_files(self) -> list[bytes]:
        """Return what is in the files of the server that were written since: heap, write-ahead log, log."""
        contents: list[bytes] = []
        for path, stamp in self._stamps().items():
            if stamp != self._before.get(path):
                with suppress(FileNotFoundError):  # the server removes what it no longer needs
                    contents.append(path.read_bytes())
        return contents

    def _stamps(self) -> dict[Path, tuple[int, int, int]]:
        """Return of each file when it was written, how long it is and its number."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
        stamps = {}
        for folder, _, names in os.walk(self._server):
            for name in names:
                path = Path(folder, name)
                with suppress(FileNotFoundError):  # as above
                    found = path.lstat()
                    stamps[path] = (found.st_mtime_ns, found.st_size, found.st_ino)
        return stamps


def all_rows(connection: psycopg.Connection[Any]) -> list[str]:
    """Return every value of every table of the database's users, as text."""
    columns = connection.execute(
        "SELECT format('%I.%I', table_schema, table_name), format('%I', column_name), data_type"
        " FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)"
        " WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')"
    ).fetchall()
    rows: list[str] = []
    for table, column, kind in columns:
        shown = f"encode({column}, 'escape')" if kind == "bytea" else f"{column}::text"
        rows += [row[0] or "" for row in connection.execute(f"SELECT {shown} FROM {table}")]
    return rows

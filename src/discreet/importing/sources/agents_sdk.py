"""Read the sessions of OpenAI's Agents SDK, as turns: SQLiteSession's file, or SQLAlchemySession's tables in PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid5

from psycopg import sql

from discreet.errors import ImportSourceError
from discreet.importing.source import BadRow, Source, SourceRow
from discreet.importing.sources.reading.agent_items import AgentMessage, message_of
from discreet.importing.sources.reading.locations import located
from discreet.importing.sources.reading.postgres import PostgresTable, open_table
from discreet.importing.sources.reading.rows import UnreadableRowError, made_row
from discreet.importing.sources.reading.sqlite import SqliteFile, open_file, quoted
from discreet.importing.sources.reading.users import UserTemplate
from discreet.importing.sources.reading.values import decoded
from discreet.state.records import TurnRecord

_IDS: Final = UUID("b2a1d0f8-9f0e-5a86-8c0e-6d2f3c1e4b95")


_POSTGRES = sql.SQL("""
SELECT session_id::text, id, message_data::text, to_json(created_at) #>> '{{}}'
FROM {table}
WHERE %(session)s::text IS NULL OR (session_id, id) > (%(session)s::text, %(id)s::bigint)
ORDER BY session_id, id
""")

_SQLITE = """
SELECT session_id, id, message_data, created_at
FROM {table}
WHERE :session IS NULL OR (session_id, id) > (CAST(:session AS TEXT), :id)
ORDER BY session_id, id
"""


@asynccontextmanager
async def open_agents_sdk(
    location: str, *, user_from: str | None = None, messages_table: str = "agent_messages", schema: str | None = None
) -> AsyncIterator[Source]:
    """Yield the turns of the sessions at `location`: an SQLite file, or a DSN, also as SQLAlchemy has it.

    `user_from` says where in a session's id the user is: `{user_id}`, or `chat:{user_id}:*`. Without it nobody knows.

    Raises:
        ImportSourceError: It can't be reached, is of another kind, or `user_from` is no template.
    """
    template = user_from and UserTemplate(user_from)
    kind, place = located(location)
    if kind == "postgres":
        async with open_table(place, messages_table, schema=schema) as table:
            yield _Sessions(_PostgresMessages(table), template or None)
    elif kind == "sqlite":
        async with open_file(place) as file:
            yield _Sessions(_SqliteMessages(file, messages_table), template or None)
    else:
        raise ImportSourceError("The file is no SQLite file.")


@dataclass(frozen=True)
class _PostgresMessages:
    table: PostgresTable

    def rows(self, session: str | None, after: int) -> AsyncIterator[tuple[Any, ...]]:
        return self.table.rows(_POSTGRES, {"session": session, "id": after})


@dataclass(frozen=True)
class _SqliteMessages:
    file: SqliteFile
    table: str

    def rows(self, session: str | None, after: int) -> AsyncIterator[tuple[Any, ...]]:
        query = _SQLITE.format(table=quoted(self.table))
        place = (session and session.encode(errors="surrogateescape"), after)
        return self.file.rows(query, place, columns=("session", "id"))


@dataclass
class _Turn:
    """Messages of a user that follow one another, and what was answered until the user's next."""

    session: str
    first: int
    started_at: datetime
    ended_at: datetime
    said: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)

    def add(self, message: AgentMessage) -> None:
        (self.said if message.role == "user" else self.answered).append(message.text)
        self.ended_at = max(self.ended_at, message.at)

    def raw(self) -> bytes:
        return json.dumps({"session_id": self.session, "input": self.said, "output": self.answered}).encode()


class _Sessions:
    name = "agents_sdk"

    def __init__(self, messages: _PostgresMessages | _SqliteMessages, template: UserTemplate | None) -> None:
        self._messages = messages
        self._template = template

    async def count(self) -> int | None:
        """As of `Source`: how many turns the messages make is known when they have been read."""
        return None

    async def rows(self, *, after: str | None = None) -> AsyncIterator[SourceRow | BadRow]:
        """As of `Source`. A mark is the session and the last message that was read, which find the place again.

        A session's id may name a user; marks are kept in a file of mode 0600.
        """
        turn: _Turn | None = None
        # Where a run that is broken off goes on: never between the messages of one turn.
        done = last = after or ""
        async for stored in self._messages.rows(*_place(after)):
            session, number, data, created_at = stored
            session = session.decode(errors="surrogateescape") if isinstance(session, bytes) else str(session)
            mark = json.dumps([session, number])
            if turn and turn.session != session:
                yield self._row(turn, last)
                turn, done = None, last
            message: AgentMessage | None = None
            try:
                message = message_of(data, created_at)
            except UnreadableRowError as error:
                yield BadRow(
                    mark=done if turn else mark, reason=str(error), raw=data if isinstance(data, bytes) else None
                )
            if message and message.role == "user" and turn and turn.answered:
                yield self._row(turn, last)
                turn, done = None, last
            if message:
                turn = turn or _Turn(session, number, message.at, message.at)
                turn.add(message)
            last = mark
            if not turn:
                done = mark
        if turn:
            yield self._row(turn, last)

    def _row(self, turn: _Turn, mark: str) -> SourceRow | BadRow:
        def made() -> tuple[str | None, TurnRecord]:
            session = decoded(turn.session, "session's id")
            user_id = self._template.user_of(session) if self._template else None
            return user_id, TurnRecord(
                request_id=str(uuid5(_IDS, json.dumps([session, turn.first]))),
                user_id=user_id,
                thread_id=session,
                input_text="\n\n".join(turn.said),
                output_text="\n\n".join(turn.answered),
                started_at=turn.started_at,
                ended_at=turn.ended_at,
            )

        return made_row(mark, turn.raw(), made)


def _place(after: str | None) -> tuple[str | None, int]:
    if not after:
        return None, 0
    try:
        session, number = json.loads(after)
        return str(session), int(number)
    except (ValueError, TypeError):
        raise ImportSourceError("The mark is of another source. Start the import anew.") from None

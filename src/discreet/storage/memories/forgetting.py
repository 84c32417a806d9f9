"""Forget a fact of one user inside a transaction: what tells it, and which rounds no prompt may tell any more."""

from __future__ import annotations

import asyncio
import json
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncCursor

from discreet.errors import EncryptionError
from discreet.ports import ForgetRequest, Forgotten
from discreet.retrieval.forgetting import (
    DERIVED,
    OTHERS,
    LoggedRound,
    are_siblings,
    beginnings,
    forget,
    superseded_by,
    teller_of,
)
from discreet.retrieval.telling import teller
from discreet.state.records import MAX_REQUEST_ID_CHARS, MemoryFilters, MemoryRecord
from discreet.state.text import storable
from discreet.storage.conversation.turn_rows import TURN_COLUMNS, texts_of_turns
from discreet.storage.database.keys import digest
from discreet.storage.database.sealed_columns import SESSION_INTENT, SESSION_SUMMARY
from discreet.storage.database.sealing import FieldSealer, reported
from discreet.storage.memories.browsing import build_get, build_latest, build_superseded
from discreet.storage.memories.deleting import delete_entries
from discreet.storage.memories.rows import opened_or_blank
from discreet.storage.memories.saving import SaveRules
from discreet.storage.memories.search import Search

LOOK_BACK = 5_000
"""Rounds of the log that are read, and memories of conversations: the newest. A month of 150 rounds a day."""

_LOGGED: LiteralString = f"""
SELECT s.thread_id, {TURN_COLUMNS}
FROM discreet.conversation_log l
JOIN discreet.session_record s USING (user_key, thread_key)
WHERE l.user_key = %(user_key)s AND s.user_key = %(user_key)s
ORDER BY l.started_at DESC
LIMIT %(limit)s
"""

_OF_SESSIONS: LiteralString = """
SELECT user_key, thread_key, intent AS plain, sealed_intent AS sealed, false AS is_summary
FROM discreet.session_record
WHERE user_key = %(user_key)s AND (intent IS NOT NULL OR sealed_intent IS NOT NULL)
UNION ALL
SELECT user_key, thread_key, said, sealed_said, true FROM discreet.session_summary WHERE user_key = %(user_key)s
LIMIT %(limit)s
"""
"""What sessions are about, and what they came to. The log may have no round any more of one that tells it."""

_MARK: LiteralString = """
INSERT INTO discreet.forgotten_round (user_key, thread_key, request_id, forgotten_at)
SELECT u.user_key, r.thread_key, r.request_id, now()
FROM discreet.users u
CROSS JOIN unnest(%(thread_keys)s::uuid[], %(request_ids)s::text[]) AS r (thread_key, request_id)
WHERE u.user_key = %(user_key)s
ON CONFLICT DO NOTHING
"""

_UNSUMMARISE: LiteralString = """
DELETE FROM discreet.session_summary WHERE user_key = %(user_key)s AND thread_key = ANY (%(thread_keys)s)
"""

_UNTITLE: LiteralString = """
UPDATE discreet.session_record SET intent = NULL, sealed_intent = NULL
WHERE user_key = %(user_key)s AND thread_key = ANY (%(thread_keys)s)
"""

_UNPROPOSE_SUMMARY: LiteralString = """
DELETE FROM discreet.memory_proposal WHERE user_key = %(user_key)s AND thread_key = ANY (%(thread_keys)s)
"""

_UNPROPOSE: LiteralString = """
DELETE FROM discreet.memory_proposal WHERE user_key = %(user_key)s AND request_ids && %(request_ids)s::text[]
"""

MARKED: LiteralString = """
SELECT request_id FROM discreet.forgotten_round
WHERE user_key = %(user_key)s AND thread_key = %(thread_key)s
"""

_Cursor = AsyncCursor[dict[str, Any]]


async def forget_entry(
    cursor: _Cursor, user_key: UUID, entry_id: UUID, rules: SaveRules, *, only: bool, asking: ForgetRequest
) -> Forgotten | None:
    """Forget one memory and what tells it; None if there is none of that id. The user must be locked."""
    entry = await _read(cursor, build_get(user_key, entry_id), rules.sealer)
    if not entry:
        return None
    facts = await _facts(cursor, user_key, entry[0], rules.sealer, only=only)
    return await _forget(cursor, user_key, rules, facts=facts, asking=asking)


async def forget_text(
    cursor: _Cursor, user_key: UUID, text: str, rules: SaveRules, *, facts: bool, asking: ForgetRequest
) -> Forgotten:
    """Forget what tells a redacted text, said and perhaps never kept; with `facts` those too. The user must be locked."""
    found: list[MemoryRecord] = []
    if facts:
        told = teller([text])
        kinds = MemoryFilters(types=list(OTHERS))
        kept = await _read(
            cursor, build_latest(user_key, limit=LOOK_BACK, filters=kinds, older_than=None), rules.sealer
        )
        for fact in [each for each in kept if told(each.text)]:
            found += await _facts(cursor, user_key, fact, rules.sealer, only=True)
    return await _forget(cursor, user_key, rules, facts=found, text=text, asking=asking)


async def _forget(
    cursor: _Cursor,
    user_key: UUID,
    rules: SaveRules,
    *,
    facts: list[MemoryRecord],
    text: str = "",
    asking: ForgetRequest,
) -> Forgotten:
    derived, others = [
        await _rows(cursor, build_latest(user_key, limit=LOOK_BACK, filters=kinds, older_than=None))
        for kinds in (MemoryFilters(types=list(DERIVED)), MemoryFilters(types=list(OTHERS)))
    ]
    read = {"user_key": user_key, "limit": LOOK_BACK}
    rows = await (await cursor.execute(_LOGGED, read)).fetchall()
    sessions = await (await cursor.execute(_OF_SESSIONS, read)).fetchall()

    def decide() -> tuple[Forgotten, set[UUID]]:
        logged = [
            LoggedRound(row["thread_id"], row["request_id"], said)
            for row, said in zip(rows, texts_of_turns(rows, rules.sealer), strict=True)
        ]
        gone = forget(
            facts,
            text=text,
            asking=asking,
            logged=logged,
            derived=opened_or_blank(derived, rules.sealer),
            others=opened_or_blank(others, rules.sealer),
        )
        tells = teller_of(facts, text=text, asking=asking)
        return gone, {row["thread_key"] for row in sessions if tells(_text_of_session(row, rules.sealer))}

    gone, told = await asyncio.to_thread(decide)
    await delete_entries(cursor, user_key, [record.entry_id for record in (*gone.facts, *gone.told)], rules)
    told |= {digest(thread) for thread, _ in gone.rounds} | {digest(r.thread_id) for r in gone.told if r.thread_id}
    if told:  # the summary of a session, and what it is said to be about, tell what its rounds told
        for statement in (_UNTITLE, _UNSUMMARISE, _UNPROPOSE_SUMMARY):
            await cursor.execute(statement, {"user_key": user_key, "thread_keys": list(told)})
    running = {(asking.thread_id, asking.request_id)}
    marked = [(digest(thread), storable(request)) for thread, request in {*gone.rounds, *running} if thread and request]
    if marked:
        thread_keys, request_ids = map(list, zip(*marked, strict=True))
        marks = {"user_key": user_key, "thread_keys": thread_keys, "request_ids": request_ids}
        await cursor.execute(_MARK, marks)
        await cursor.execute(_UNPROPOSE, marks)
    return gone


def _text_of_session(row: dict[str, Any], sealer: FieldSealer) -> str:
    """Return what a session is about or came to; nothing if its key is not known."""
    column = SESSION_SUMMARY if row["is_summary"] else SESSION_INTENT
    try:
        with reported("session", row["thread_key"]):
            text = sealer.join(row["plain"], row["sealed"], column, row["user_key"], row["thread_key"])
    except EncryptionError:
        return ""
    if not row["is_summary"]:
        return text
    said = json.loads(text)
    return "\n".join([said["summary"], *said.get("topics", ()), *said.get("key_facts", ())])


async def _facts(
    cursor: _Cursor, user_key: UUID, entry: MemoryRecord, sealer: FieldSealer, *, only: bool
) -> list[MemoryRecord]:
    """Return `entry`, what was kept of the same statement, and their former versions."""
    facts = [entry]
    if not only and entry.request_id is not None and len(entry.request_id) <= MAX_REQUEST_ID_CHARS:
        same_turn = MemoryFilters(request_id=entry.request_id)
        query = build_latest(user_key, limit=LOOK_BACK, filters=same_turn, older_than=None, held=False)
        kept = await _read(cursor, query, sealer)
        facts += [each for each in kept if each.entry_id != entry.entry_id and are_siblings(each, entry)]
    while former := superseded_by(facts, await _read(cursor, build_superseded(user_key, beginnings(facts)), sealer)):
        facts += former
    return facts


async def _read(cursor: _Cursor, query: Search, sealer: FieldSealer) -> list[MemoryRecord]:
    return opened_or_blank(await _rows(cursor, query), sealer)


async def _rows(cursor: _Cursor, query: Search) -> list[dict[str, Any]]:
    return await (await cursor.execute(query.statement, query.parameters)).fetchall()

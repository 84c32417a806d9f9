"""Keep the words that each memory is found by in step with what was said around it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncCursor

from discreet.errors import EncryptionError
from discreet.retrieval.lexical import REACH, Impacts, Neighbour, TokenDigest, impacts, mark_impacts, token_ids
from discreet.state.records import Place
from discreet.storage.database.keys import digest
from discreet.storage.database.sealing import FieldSealer, report_unreadable
from discreet.storage.database.statements import fetch_in
from discreet.storage.memories.rows import TEXT_COLUMNS, sparse, text_of

_AT_PLACES: LiteralString = f"""
SELECT {TEXT_COLUMNS}
FROM unnest(%(thread_keys)s::uuid[], %(positions)s::bigint[]) AS p (thread_key, position)
CROSS JOIN LATERAL (
    SELECT e.*
    FROM discreet.memory e
    WHERE e.user_key = %(user_key)s AND e.thread_key = p.thread_key AND e.position = p.position
      AND e.thread_key IS NOT NULL AND e.position IS NOT NULL
    OFFSET 0
) m
"""
"""OFFSET 0 keeps it a lookup for each place, whatever the planner thinks of the table's size."""

_SET_WORDS: LiteralString = """
UPDATE discreet.memory SET lexical = %(lexical)s
WHERE user_key = %(user_key)s AND entry_id = %(entry_id)s
"""


@dataclass(frozen=True)
class Said:
    """What was said at a place."""

    entry_id: UUID
    place: Place
    tokens: list[int]
    """Its `token_ids`."""
    marks: Impacts
    """Its `mark_impacts`."""


def around(places: Iterable[Place], reach: int) -> set[Place]:
    """Return all places at most `reach` away from one of `places`, those included."""
    return {(thread, at) for thread, position in places for at in range(max(0, position - reach), position + reach + 1)}


def next_to(place: Place | None, said: Mapping[Place, list[list[int]]]) -> list[Neighbour]:
    """Return what was said up to `REACH` turns before and after `place`."""
    if place is None:
        return []
    thread, position = place
    return [
        (abs(step), tokens)
        for step in range(-REACH, REACH + 1)
        if step
        for tokens in said.get((thread, position + step), ())
    ]


def by_place(said: Iterable[Said]) -> dict[Place, list[list[int]]]:
    """Return what was said at each place."""
    tokens: dict[Place, list[list[int]]] = defaultdict(list)
    for each in said:
        tokens[each.place].append(each.tokens)
    return tokens


async def said_at(
    cursor: AsyncCursor[dict[str, Any]],
    user_key: UUID,
    places: Collection[Place],
    sealer: FieldSealer,
    words: TokenDigest,
) -> list[Said]:
    """Return what the user's memories hold at `places`, of those that can be opened: the words of others stay as they are."""
    if not places:
        return []
    threads, positions = zip(*places, strict=True)
    asked = {"user_key": user_key, "thread_keys": list(map(digest, threads)), "positions": list(positions)}
    said, unreadable = [], []
    for row in await fetch_in(cursor, _AT_PLACES, asked):
        place = row["thread_id"], row["position"]
        try:
            text = text_of(row, sealer)
        except EncryptionError:
            unreadable.append(row["entry_id"])
            continue
        marks = mark_impacts(text, row["created_at"], words)
        said.append(Said(row["entry_id"], place, token_ids(text, words), marks))
    report_unreadable("memory", unreadable)
    return said


async def refresh_words(
    cursor: AsyncCursor[dict[str, Any]],
    user_key: UUID,
    changed: set[Place],
    sealer: FieldSealer,
    words: TokenDigest,
    *,
    but: Collection[UUID] = (),
) -> None:
    """Weigh the words of every memory near a `changed` place anew, apart from the ids in `but`."""
    said = await said_at(cursor, user_key, around(changed, 2 * REACH), sealer, words)
    tokens, affected = by_place(said), around(changed, REACH)
    updates = []
    for each in said:
        if each.place in affected and each.entry_id not in but:
            lexical = sparse(impacts(each.tokens, next_to(each.place, tokens), each.marks))
            updates.append({"user_key": user_key, "entry_id": each.entry_id, "lexical": lexical})
    if updates:
        await cursor.executemany(_SET_WORDS, updates)

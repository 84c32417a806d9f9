"""List the people in a database by their keys, with counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from discreet.state.records import PageMark
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.statements import fetch
from discreet.storage.people.conflicts import OPEN_PAIRS

_ACTIVE: LiteralString = """
SELECT l.user_key, l.ended_at
FROM discreet.conversation_log l
WHERE NOT EXISTS (
    SELECT FROM discreet.conversation_log n
    WHERE n.user_key = l.user_key AND (n.started_at, n.request_id) > (l.started_at, l.request_id)
  )
  {after}
ORDER BY l.ended_at DESC, l.user_key DESC
LIMIT %(limit)s
"""
"""Walks the turns from the newest on (index conversation_log_age) and takes those that are their user's last (conversation_log_user): a
page reads as many turns as were said meanwhile, and no column has to be kept up to date with every turn."""

_AFTER_ACTIVE: LiteralString = "AND (l.ended_at, l.user_key) < (%(at)s, %(user_key)s)"

_QUIET: LiteralString = """
SELECT m.user_key
FROM discreet.user_memories m
WHERE m.memories > 0 AND m.user_key > %(after)s
  AND NOT EXISTS (SELECT FROM discreet.conversation_log l WHERE l.user_key = m.user_key)
  AND NOT EXISTS (SELECT FROM discreet.store_namespace s WHERE s.user_key = m.user_key)
ORDER BY m.user_key
LIMIT %(limit)s
"""
"""Who has memories and no turn in the log. Namespaces of the store have keys like theirs, and are nobody."""

_COUNTS: LiteralString = f"""
SELECT u.user_key, u.expires_at IS NOT NULL AS is_thread,
    (
        SELECT count(*) FROM discreet.memory m
        WHERE m.user_key = u.user_key AND m.type NOT IN ('turn', 'item') AND (m.valid_to IS NULL OR m.valid_to > now())
    ) AS memories,
    (SELECT count(*) FROM discreet.conversation_log l WHERE l.user_key = u.user_key) AS turns,
    (SELECT count(*) {OPEN_PAIRS} AND c.user_key = u.user_key) AS conflicts,
    (SELECT count(*) FROM discreet.memory_proposal p WHERE p.user_key = u.user_key) AS waiting,
    greatest(
        (SELECT max(l.ended_at) FROM discreet.conversation_log l WHERE l.user_key = u.user_key),
        (SELECT max(m.created_at) FROM discreet.memory m WHERE m.user_key = u.user_key)
    ) AS seen_at
FROM discreet.users u
WHERE u.user_key = ANY (%(user_keys)s)
"""


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody, as far as the database knows them: by a key that is a digest, with counts."""

    user_key: UUID
    is_thread: bool
    """Whether no user was named: it is whoever spoke in one thread."""
    memories: int
    """That hold now, without turns and items of the store."""
    turns: int
    """In the conversation log."""
    conflicts: int
    """Pairs of memories that may not both hold."""
    waiting: int
    """Memories that wait for a yes."""
    seen_at: datetime | None
    """When they last said something or something was kept of them; None: nothing is there any more."""


def build_active(*, limit: int, before: PageMark | None) -> tuple[LiteralString, dict[str, Any]]:
    """Return the query for who talked last, and before a mark: the end of a turn and whose it is."""
    after: LiteralString = "" if before is None else _AFTER_ACTIVE
    at, user_key = before or (None, None)
    return _ACTIVE.replace("{after}", after), {"limit": limit, "at": at, "user_key": user_key}


def build_quiet(*, limit: int, after: UUID | None) -> tuple[LiteralString, dict[str, Any]]:
    """Return the query for who has memories alone, in the order of their keys."""
    return _QUIET, {"limit": limit, "after": after or UUID(int=0)}


async def people_of(pool: Pool, user_keys: Sequence[UUID]) -> list[Person]:
    """Return these people with their counts, in this order; those that are gone are left out.

    Raises:
        StorageError: The database failed.
    """
    rows = await fetch(pool, _COUNTS, {"user_keys": list(user_keys)}) if user_keys else []
    found = {row["user_key"]: Person(**row) for row in rows}
    return [found[key] for key in user_keys if key in found]

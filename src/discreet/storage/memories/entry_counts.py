"""How many memories a user has, and which: beside the number a keyed sum of their ids, which nobody makes without the identity key.

Rows that are deleted or added past Discreet then don't add up to it. Who puts a former number, sum and rows of a user back, all of
them, is not found.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg import AsyncCursor

from discreet.access.user_keys import UserKeys
from discreet.storage.database.statements import fetch_in
from discreet.storage.database.users.users import Counted

_SUM_BYTES: Final = 16
_MODULUS: Final = 2 ** (8 * _SUM_BYTES)

_READ: LiteralString = "SELECT memories, entries FROM discreet.user_memories WHERE user_key = %(user_key)s"

_WRITE: LiteralString = """
UPDATE discreet.user_memories
SET memories = memories + %(added)s - %(gone)s, entries = coalesce(%(entries)s, entries),
    space_key = CASE
        WHEN %(space_key)s::smallint IS NULL OR space_key = %(space_key)s THEN space_key
        WHEN memories = %(gone)s THEN %(space_key)s
    END
WHERE user_key = %(user_key)s
"""


@dataclass(frozen=True)
class EntryCount:
    """Memories of one user."""

    user_key: UUID
    number: int = 0
    sum: int = 0

    def plus(self, keys: UserKeys, added: Iterable[UUID], gone: Iterable[UUID] = ()) -> EntryCount:
        """Return the count with entries that are `added`, and without those that are `gone`."""
        come, went = ([_element(keys, self.user_key, each) for each in entries] for entries in (added, gone))
        total = (self.sum + sum(come) - sum(went)) % _MODULUS
        return EntryCount(self.user_key, self.number + len(come) - len(went), total)

    def signed(self, keys: UserKeys) -> bytes:
        """Return what is stored beside the number."""
        total = self.sum.to_bytes(_SUM_BYTES)
        said = self.user_key.bytes + self.number.to_bytes(8, signed=True) + total
        return total + blake2b(said, digest_size=_SUM_BYTES, key=keys.entries_key, person=b"count").digest()


def count_of(keys: UserKeys, user_key: UUID, memories: int, entries: bytes | None) -> EntryCount | None:
    """Return the count that is stored; None if it is not one that we stored. Of who never had a memory there is none yet."""
    if entries is None:
        return EntryCount(user_key) if memories == 0 else None
    count = EntryCount(user_key, memories, int.from_bytes(entries[:_SUM_BYTES]))
    return count if hmac.compare_digest(count.signed(keys), entries) else None


async def count_entries(
    cursor: AsyncCursor[dict[str, Any]],
    user_key: UUID,
    keys: UserKeys,
    *,
    added: Collection[UUID] = (),
    gone: Collection[UUID] = (),
    space_key: int | None = None,
    counted: Counted | None = None,
) -> None:
    """Count entries of a user that are `added` and `gone`, in the transaction that writes or deletes them; the user must be locked.

    `space_key`: the embedding space of what was written. `counted`: what is stored, if the lock has told and nothing changed it since. A count that somebody changed stays as wrong as it is.
    """
    come, went = set(added) - set(gone), set(gone) - set(added)
    if not come and not went and space_key is None:
        return
    if counted is None:
        rows = await fetch_in(cursor, _READ, {"user_key": user_key})
        counted = Counted(rows[0]["memories"], rows[0]["entries"]) if rows else None
    count = None if counted is None else count_of(keys, user_key, *counted)
    entries = None if count is None or not (come or went) else count.plus(keys, come, went).signed(keys)
    given = {"added": len(come), "gone": len(went), "entries": entries, "space_key": space_key}
    await cursor.execute(_WRITE, {"user_key": user_key, **given})


def _element(keys: UserKeys, user_key: UUID, entry_id: UUID) -> int:
    said = user_key.bytes + entry_id.bytes
    return int.from_bytes(blake2b(said, digest_size=_SUM_BYTES, key=keys.entries_key, person=b"entry").digest())

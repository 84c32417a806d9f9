"""The mark: which seal is the last. It stands apart from the seals, so that the last of them can't go unseen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, LiteralString

from discreet.access.user_keys import UserKeys
from discreet.storage.audit.digests import AFTER_BREAK, BEFORE_FIRST, AuditKey
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.users.identity_key import check_identity_key

Row = Mapping[str, Any]

READ_MARK: LiteralString = """
SELECT m.seal_number, m.seal_hash, m.hash, EXISTS (SELECT FROM discreet.identity_key) AS is_bound
FROM (SELECT) AS one LEFT JOIN discreet.audit_mark m ON true
"""
"""Of a database without a mark too: `seal_number` is NULL then."""

WRITE_MARK: LiteralString = """
INSERT INTO discreet.audit_mark (seal_number, seal_hash, hash) VALUES (%(seal_number)s, %(seal_hash)s, %(hash)s)
ON CONFLICT (only_row) DO UPDATE
SET seal_number = excluded.seal_number, seal_hash = excluded.seal_hash, hash = excluded.hash
"""


async def bind_database(pool: Pool, keys: UserKeys) -> None:
    """Make sure that a database is used with one identity key; the first process sets it, and the mark of a trail without seals.

    Raises:
        ConfigurationError: It is used with another one: nobody would find what is theirs.
    """
    await check_identity_key(pool, keys, mark=mark_of(AuditKey(keys.audit_key), 0, BEFORE_FIRST))


def mark_of(key: AuditKey, seal_number: int, seal_hash: bytes) -> dict[str, Any]:
    """Return what `WRITE_MARK` takes: that this seal is the last, or with number 0 that there is none."""
    return {"seal_number": seal_number, "seal_hash": seal_hash, "hash": key.of_mark(seal_number, seal_hash)}


def is_genuine(mark: Row, key: AuditKey) -> bool:
    """Tell whether a mark is one that was made here, be it the newest or a former one."""
    return bool(mark["hash"] == key.of_mark(mark["seal_number"], mark["seal_hash"]))


def place_of_next(mark: Row, last: Row | None, key: AuditKey) -> tuple[int, bytes]:
    """Return number and previous hash of the next seal, given the mark and the last seal there is.

    The hash is `AFTER_BREAK` if they do not belong together: the next seal tells of it for as long as it is kept, whatever the mark
    says afterwards.
    """
    number, found = (0, BEFORE_FIRST) if last is None else (last["seal_number"], last["hash"])
    if mark["seal_number"] is None:
        return number + 1, AFTER_BREAK
    if is_genuine(mark, key) and (mark["seal_number"], mark["seal_hash"]) == (number, found):
        return number + 1, found
    return max(number, mark["seal_number"]) + 1, AFTER_BREAK  # the database lets a mark rise only

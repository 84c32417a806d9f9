"""Memories that wait until somebody accepts, edits or refuses them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID, uuid4

from discreet.access.user_keys import UserKeys
from discreet.driver_errors import storage_errors
from discreet.errors import EncryptionError, InvalidRecordError, SecretRefusedError
from discreet.ports import AuditLog
from discreet.redaction.placeholders import SECRET, written
from discreet.state.background import Proposal
from discreet.state.ids import check_user_id
from discreet.state.records import MemoryRecord
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.sealed_columns import PROPOSAL
from discreet.storage.database.sealing import FieldSealer, report_unreadable
from discreet.storage.database.statements import fetch
from discreet.storage.database.users.users import Cursor
from discreet.storage.memories.memories import PostgresMemories

_PLACEHOLDER = re.compile(r"<[A-Z][A-Z0-9_]{1,40}>")

MAX_PROPOSALS = 500
"""Of one user: then the oldest go. Nobody reads more, and they are no memories yet."""

_INSERT: LiteralString = """
INSERT INTO discreet.memory_proposal (
    user_key, proposal_key, created_at, request_ids, thread_key, record, sealed_record
)
VALUES (
    %(user_key)s, %(proposal_key)s, now(), %(request_ids)s, %(thread_key)s, %(record)s, %(sealed_record)s
)
"""

_OUTDATED: LiteralString = """
DELETE FROM discreet.memory_proposal WHERE user_key = %(user_key)s AND thread_key = %(thread_key)s
"""

_TRIM: LiteralString = f"""
DELETE FROM discreet.memory_proposal
WHERE user_key = %(user_key)s AND proposal_key IN (
    SELECT proposal_key FROM discreet.memory_proposal WHERE user_key = %(user_key)s
    ORDER BY created_at DESC, proposal_key DESC OFFSET {MAX_PROPOSALS}
)
"""

_COLUMNS: LiteralString = "user_key, proposal_key, created_at, record, sealed_record"

_LIST: LiteralString = f"""
SELECT {_COLUMNS} FROM discreet.memory_proposal
WHERE (%(user_key)s::uuid IS NULL OR user_key = %(user_key)s)
  AND (%(after_at)s::timestamptz IS NULL OR (created_at, proposal_key) > (%(after_at)s, %(after)s))
ORDER BY created_at, proposal_key
LIMIT %(limit)s
"""

_GET: LiteralString = f"""
SELECT {_COLUMNS} FROM discreet.memory_proposal WHERE user_key = %(user_key)s AND proposal_key = %(proposal_key)s
"""

_TAKE: LiteralString = """
DELETE FROM discreet.memory_proposal WHERE user_key = %(user_key)s AND proposal_key = %(proposal_key)s
RETURNING proposal_key
"""


async def propose(
    cursor: Cursor,
    user_key: UUID,
    records: Sequence[MemoryRecord],
    sealer: FieldSealer,
    *,
    thread_key: UUID | None = None,
) -> None:
    """Let redacted `records` wait, in the place of what waits of `thread_key` if given. The user must be held."""
    if thread_key is not None:
        await cursor.execute(_OUTDATED, {"user_key": user_key, "thread_key": thread_key})
    for record in records:
        key = uuid4()
        plain, sealed = sealer.split(record.model_dump_json(), PROPOSAL, user_key, key)
        columns = {"record": plain, "sealed_record": sealed, "request_ids": record.provenance.turns or []}
        await cursor.execute(_INSERT, {"user_key": user_key, "proposal_key": key, "thread_key": thread_key, **columns})
    if records:
        await cursor.execute(_TRIM, {"user_key": user_key})


class Proposals:
    """The queue.

    Raises, from every method:
        InvalidUserError: `user_id` can't be used.
        StorageError: The database failed; nothing was changed.
    """

    def __init__(
        self, pool: Pool, *, memories: PostgresMemories, keys: UserKeys, sealer: FieldSealer, audit: AuditLog
    ) -> None:
        """Use `pool`, whose owner closes it."""
        self._pool = pool
        self._memories = memories
        self._key_of = keys.of_user
        self._sealer = sealer
        self._audit = audit

    async def waiting(
        self,
        user_id: str | None = None,
        *,
        user_key: UUID | None = None,
        limit: int = 50,
        after: tuple[datetime, UUID] | None = None,
    ) -> list[Proposal]:
        """Return at most `limit` proposals, oldest first: of one user, by id or by key, or of all.

        `after`: created_at and proposal_key of the last one seen. One whose key is not known is left out, and the log names it.
        """
        key = self._key_of(check_user_id(user_id)) if user_id is not None else user_key
        found: list[Proposal] = []
        while len(found) < limit:
            after_at, last = after or (None, None)
            wanted = limit - len(found)
            asked = {"user_key": key, "limit": wanted, "after_at": after_at, "after": last}
            rows = await fetch(self._pool, _LIST, asked)
            found += [opened for row in rows if (opened := self._opened(row)) is not None]
            if len(rows) < wanted:
                break
            after = rows[-1]["created_at"], rows[-1]["proposal_key"]
        for whose, proposals in Counter(proposal.user_key for proposal in found).items():
            await self._tell_reading(whose, proposals)
        return found

    async def get(self, user: str | UUID, proposal_key: UUID) -> Proposal | None:
        """Return one proposal of a user, whom their id or their user_key names; None if there is none of that key."""
        user_key = self._user_key(user)
        found = await self._get(user_key, proposal_key)
        await self._tell_reading(user_key, 0 if found is None else 1)
        return found

    async def accept(
        self, user: str | UUID, proposal_key: UUID, *, changes: Mapping[str, Any] | None = None
    ) -> MemoryRecord | None:
        """Keep a proposal as a memory, with other fields if `changes` gives them; None if there is none of that key.

        The proposal goes in the same transaction, so that it is kept once.

        Raises:
            InvalidRecordError: What was changed can't be used, or says nothing but a placeholder.
            SecretRefusedError: A password, key or token is in it.
        """
        user_key = self._user_key(user)
        found = await self._get(user_key, proposal_key)
        if found is None:
            return None
        values = found.record.model_dump() | dict(changes or {})
        prepared = await self._memories.prepare([MemoryRecord(**values)])
        _check_edited(prepared.records[0])
        async with self._memories.unit_of_work(user_key) as unit:
            if not await _take(unit.cursor, user_key, proposal_key):
                return None
            record = (await unit.save(prepared)).stored[0]
            await self._tell(unit.cursor, "proposal.accept", user_key)
            return record

    async def refuse(self, user: str | UUID, proposal_key: UUID) -> bool:
        """Drop a proposal; False if there is none of that key."""
        user_key = self._user_key(user)
        with storage_errors():
            async with self._pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
                is_gone = await _take(cursor, user_key, proposal_key)
                if is_gone:
                    await self._tell(cursor, "proposal.refuse", user_key)
        return is_gone

    async def _get(self, user_key: UUID, proposal_key: UUID) -> Proposal | None:
        asked = {"user_key": user_key, "proposal_key": proposal_key}
        row = next(iter(await fetch(self._pool, _GET, asked)), None)
        return None if row is None else self._opened(row)

    async def _tell(self, cursor: Cursor, action: str, user_key: UUID) -> None:
        await self._audit.record_in(cursor, action, user_key=user_key, data="proposal", counts={"proposals": 1})

    async def _tell_reading(self, user_key: UUID, proposals: int) -> None:
        counts = {"proposals": proposals}
        await self._audit.record_reading("proposal.read", user_key=user_key, data="proposal", counts=counts)

    def _user_key(self, user: str | UUID) -> UUID:
        return user if isinstance(user, UUID) else self._key_of(check_user_id(user))

    def _opened(self, row: Mapping[str, Any]) -> Proposal | None:
        key = row["user_key"], row["proposal_key"]
        try:
            said = self._sealer.join(row["record"], row["sealed_record"], PROPOSAL, *key)
        except EncryptionError:
            report_unreadable("proposal", [row["proposal_key"]])
            return None
        record = MemoryRecord.model_validate_json(said)
        return Proposal(
            user_key=row["user_key"], proposal_key=row["proposal_key"], created_at=row["created_at"], record=record
        )


def _check_edited(record: MemoryRecord) -> None:
    """Refuse what an extracted item would be refused for, in a redacted record."""
    if any(written(SECRET) in text for text in (record.text, *record.tags)):
        raise SecretRefusedError
    if not re.search(r"\w", _PLACEHOLDER.sub("", record.text)):
        raise InvalidRecordError("The text says nothing but a placeholder.")


async def _take(cursor: Cursor, user_key: UUID, proposal_key: UUID) -> bool:
    given = {"user_key": user_key, "proposal_key": proposal_key}
    return await (await cursor.execute(_TAKE, given)).fetchone() is not None

"""All kinds in the order in which an export has them, and those that are read in other ways than by their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, LiteralString
from uuid import UUID

from discreet.ports import HISTORY_SECONDS
from discreet.rights.exporting.format import KINDS, ExportRecord, ItemRow, RoundRow
from discreet.rights.exporting.source import Key, Opened, Reading, Source, opened
from discreet.rights.exporting.tables import TABLES, Row
from discreet.rights.exporting.threads import Messages, Threads
from discreet.rights.namespaces import Namespace, owned_namespaces
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.statements import fetch
from discreet.storage.store.items import value_of

MAX_ROUNDS = 10_000
"""Of one session, which short-term memory has for a day."""

SESSIONS_A_PAGE = 50

_ITEMS: LiteralString = """
SELECT user_key, item_key, key, value, sealed_value, created_at, updated_at, ttl_minutes FROM discreet.store_item
WHERE user_key = %(user_key)s AND item_key > %(after)s AND (expires_at IS NULL OR expires_at > now())
ORDER BY item_key
LIMIT %(limit)s
"""

_SESSIONS: LiteralString = """
SELECT thread_key, thread_id FROM discreet.session_record
WHERE user_key = %(user_key)s AND thread_key > %(after)s AND ended_at >= %(since)s
ORDER BY thread_key
LIMIT %(limit)s
"""

_FIRST = UUID(int=0)
"""Before all keys: they are digests, or random."""


class Items:
    """Items of the store that have not expired. Key: the path of the namespace, and the digest of theirs."""

    kind = "items"
    key_types: Sequence[type] = (str, UUID)

    async def page(self, reading: Reading, after: Key | None, limit: int) -> Opened:
        """Return at most `limit` items, of one namespace after the other."""
        records: list[ExportRecord] = []
        path, item_key = ("", _FIRST) if after is None else (str(after[0]), UUID(str(after[1])))
        # From the namespace itself on, of which there may be more: none sorts between it and the text before its last character.
        before = path[:-1]
        while namespaces := await owned_namespaces(
            reading.pool, reading.user_id, keys=reading.keys, named=reading.namespaces, after=before
        ):
            for namespace in namespaces:
                begin = item_key if namespace.path == path else _FIRST
                given = {"user_key": namespace.user_key, "after": begin, "limit": limit - len(records)}
                rows = await fetch(reading.pool, _ITEMS, given)
                records += [self._record(namespace, row, reading.sealer) for row in rows]
                if len(records) == limit:
                    return records, self._key(namespace, rows[-1])
            before = namespaces[-1].path
        return records, None

    def _record(self, namespace: Namespace, row: Row, sealer: FieldSealer) -> ExportRecord:
        def record() -> ItemRow:
            same = {name: row[name] for name in ("key", "created_at", "updated_at", "ttl_minutes")}
            return ItemRow(namespace=list(namespace.labels), value=value_of(row, sealer), **same)

        return opened(self.kind, self._key(namespace, row), record)

    def _key(self, namespace: Namespace, row: Row) -> Key:
        return namespace.path, str(row["item_key"])


class Rounds:
    """Rounds that short-term memory has, in the database or in Redis. Key: the thread."""

    kind = "rounds"
    key_types: Sequence[type] = (UUID,)

    async def page(self, reading: Reading, after: Key | None, limit: int) -> Opened:
        """Return the rounds of some sessions. Those that can't be opened are named by the log alone."""
        since = datetime.now(UTC) - 2 * timedelta(seconds=HISTORY_SECONDS)
        count = min(limit, SESSIONS_A_PAGE)
        begin = _FIRST if after is None else UUID(str(after[0]))
        given = {"user_key": reading.user_key, "after": begin, "since": since, "limit": count}
        sessions = await fetch(reading.pool, _SESSIONS, given)
        records: list[ExportRecord] = []
        for session in sessions:
            thread_id = session["thread_id"]
            rounds = await reading.short_term.recent_rounds(reading.user_id, thread_id, limit=MAX_ROUNDS)
            records += [RoundRow(thread_id=thread_id, **vars(said)) for said in rounds]
        return records, (str(sessions[-1]["thread_key"]),) if len(sessions) == count else None


_ALL: Sequence[Source] = (*TABLES, Items(), Rounds(), Threads(), Messages())
SOURCES: Final[Mapping[str, Source]] = {kind: source for kind in KINDS for source in _ALL if source.kind == kind}
"""By kind, in the order of the format."""

"""Settings of memory in the database, and who changed them when."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, LiteralString

from psycopg import AsyncCursor
from psycopg.types.json import Jsonb
from pydantic import JsonValue

from discreet.driver_errors import storage_errors
from discreet.errors import SettingRefusedError
from discreet.ports import AuditLog, NoAudit
from discreet.redaction.configured import default_redactor
from discreet.state.ids import check_user_id
from discreet.state.memory_settings import MemorySettings, SettingChange, changed, in_force
from discreet.storage.database.connecting.pool import Pool

logger = logging.getLogger(__name__)

POLL_SECONDS = 4.0
"""From one look at the table to the next; up to a fifth more, so at most five seconds. A look, not LISTEN: that takes a
connection of its own, does not pass a pooler in transaction mode, and misses what is said while it connects again, so
that it would need the look besides. It is one read of a page, every few seconds a process."""

_READ: LiteralString = "SELECT name, value FROM discreet.setting ORDER BY name"

_LOCK: LiteralString = "SELECT pg_advisory_xact_lock(hashtextextended('discreet.settings', 4))"
"""One change at a time. A statement of its own before all others: the next one sees what the previous holder committed."""

_CHANGE: LiteralString = """
WITH change AS (
    SELECT name, old, new FROM jsonb_to_recordset(%(changes)s) AS c (name text, old jsonb, new jsonb)
), told AS (
    INSERT INTO discreet.setting_change (name, old, new, changed_at, changed_by)
    SELECT name, old, new, statement_timestamp(), %(by)s FROM change ORDER BY name
), unset AS (
    DELETE FROM discreet.setting s USING change c WHERE s.name = c.name AND c.new IS NULL
)
INSERT INTO discreet.setting (name, value, changed_at, changed_by)
SELECT name, new, statement_timestamp(), %(by)s FROM change WHERE new IS NOT NULL
ON CONFLICT (name) DO UPDATE
SET value = excluded.value, changed_at = excluded.changed_at, changed_by = excluded.changed_by
"""
"""statement_timestamp() and not now(), which is when the transaction began to wait for the lock: times are in the order
of change_id."""

_HISTORY: LiteralString = """
SELECT change_id, name, old, new, changed_at, changed_by
FROM discreet.setting_change
WHERE (%(name)s::text IS NULL OR name = %(name)s) AND (%(before)s::bigint IS NULL OR change_id < %(before)s)
ORDER BY change_id DESC
LIMIT %(limit)s
"""


class PostgresSettingsStore:
    """The `SettingsStore` port over PostgreSQL."""

    def __init__(self, pool: Pool, *, environment: MemorySettings, audit: AuditLog | None = None) -> None:
        """Use `pool`, whose owner closes it; `environment` says what the database does not, `audit` knows who changes it."""
        self._pool = pool
        self._environment = environment
        self._audit = audit or NoAudit()
        self._live = environment
        self._left_out: list[str] = []
        self._in_turn = asyncio.Lock()  # what this process reads later is what it shows later

    @property
    def live(self) -> MemorySettings:
        """What holds, as this process last saw it."""
        return self._live

    async def read(self) -> MemorySettings:
        """Return what holds now; `live` is that too from then on.

        Raises:
            StorageError: The database failed.
        """
        async with self._in_turn:
            with storage_errors():
                async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
                    values = await _values(cursor)
            settings, left_out = in_force(self._environment, values)
            if left_out != self._left_out:
                logger.warning("settings.left_out names=%s", ",".join(left_out) or "none")
            self._live, self._left_out = settings, left_out
        return settings

    async def overridden(self) -> frozenset[str]:
        """Return the names of the settings that the database says and that can be used.

        Raises:
            StorageError: The database failed.
        """
        with storage_errors():
            async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
                values = await _values(cursor)
        return frozenset(values) - frozenset(in_force(self._environment, values)[1])

    async def change(self, changes: Mapping[str, JsonValue], *, by: str) -> MemorySettings:
        """Set these, all or none; None gives a setting back to the environment. What stays as it is, is not told.

        Raises:
            SettingRefusedError: A name is unknown, a value is sensitive, or the values can't be used together; nothing was
                changed.
            InvalidUserError: `by` can't be used.
            StorageError: Nothing was changed.
        """
        by = check_user_id(by)
        async with self._in_turn:
            with storage_errors():
                async with self._pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
                    await cursor.execute(_LOCK)
                    after = changed(self._environment, await _values(cursor), changes)
                    _refuse_sensitive({name: new for name, _, new in after.differences})
                    if after.differences:
                        told = [{"name": name, "old": old, "new": new} for name, old, new in after.differences]
                        await cursor.execute(_CHANGE, {"changes": Jsonb(told), "by": by})
                        counts = {"settings": len(told)}
                        await self._audit.record_in(
                            cursor, "setting.change", user_key=None, data="setting", counts=counts
                        )
            self._live = after.settings
        if after.differences:
            logger.info("settings.changed names=%s", ",".join(name for name, _, _ in after.differences))
        return after.settings

    async def history(
        self, *, name: str | None = None, limit: int = 50, before: int | None = None
    ) -> list[tuple[int, SettingChange]]:
        """Return the latest changes, newest first, each with its number; `before` is the number of the last one seen.

        Raises:
            StorageError: The database failed.
        """
        parameters = {"name": name, "limit": max(0, limit), "before": before}
        with storage_errors():
            async with self._pool.connection() as conn, conn.cursor(binary=True) as cursor:
                rows = await (await cursor.execute(_HISTORY, parameters)).fetchall()
        return [(row.pop("change_id"), SettingChange.model_validate(row)) for row in rows]


async def _values(cursor: AsyncCursor[dict[str, Any]]) -> dict[str, JsonValue]:
    """Return what the database says, by name."""
    return {row["name"]: row["value"] for row in await (await cursor.execute(_READ)).fetchall()}


def _refuse_sensitive(values: Mapping[str, JsonValue]) -> None:
    """Refuse a value that would have to be redacted: a key that was pasted as the name of a model, for example.

    Raises:
        SettingRefusedError: There is one.
    """
    redactor = default_redactor()
    found = [name for name, value in values.items() if isinstance(value, str) and redactor.redact(value) != value]
    if found:
        problem = "holds a sensitive value"
        lines = "; ".join(f"{name}: {problem}" for name in found)
        raise SettingRefusedError(f"Nothing was changed. {lines}.", [(name, problem) for name in found])

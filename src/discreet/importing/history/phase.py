"""How far a migration is: one setting in the database, which all processes follow within five seconds."""

from __future__ import annotations

from collections.abc import Collection

from discreet.errors import SettingRefusedError
from discreet.ports import SettingsStore
from discreet.state.memory_settings import HistoryMigration

SETTING = "history_migration"
READS_OURS: frozenset[HistoryMigration] = frozenset({"switched", "finished"})

_NEXT = {
    "off": "Begin with `discreet migrate-history dual-write`.",
    "dual_write": "Go on with `discreet migrate-history switch`.",
    "switched": "Go back with `discreet migrate-history rollback`, or end with `finish`.",
    "finished": "Redis lacks what was said since. `dual-write` begins anew, once the application writes there again.",
}


async def move(
    settings: SettingsStore, to: HistoryMigration, *, since: Collection[HistoryMigration], by: str
) -> HistoryMigration:
    """Bring the migration to a phase from one of `since`, if it isn't there; return the one before.

    Raises:
        SettingRefusedError: It is at another one.
        StorageError: Nothing was changed.
    """
    now = (await settings.read()).history_migration
    if now != to:
        if now not in since:
            raise SettingRefusedError(f"The migration of the history is at `{now}`. Nothing was changed. {_NEXT[now]}")
        await settings.change({SETTING: to}, by=by)
    return now

"""`discreet migrate`: numbered SQL, applied once."""

from __future__ import annotations

import asyncio
import json

from discreet.settings import load_settings
from discreet.storage import resolve_dsn
from discreet.storage.migrations import migrate


def run_migrate(dsn: str | None, *, as_json: bool) -> None:
    """Apply the migrations that are missing, and say which.

    Raises:
        StorageError: The database can't be reached or refuses a migration; what was applied before stays.
    """
    applied = asyncio.run(_migrate(dsn))
    if as_json:
        print(json.dumps({"applied": applied}))
    elif applied:
        print("\n".join(f"applied {name}" for name in applied))
    else:
        print("The schema is up to date.")


async def _migrate(dsn: str | None) -> list[str]:
    async with resolve_dsn(dsn, load_settings()) as target:
        return await migrate(target)

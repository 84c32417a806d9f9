"""What Aegra's own tables have of a user: threads with their runs, crons, and assistants of theirs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, LiteralString

from aegra_api.core.database import db_manager
from aegra_api.services.run_cleanup import delete_thread_by_id

from discreet.rights.erasure import Scope

CRONS: Final[tuple[LiteralString, LiteralString]] = (
    "SELECT count(*) AS n FROM crons WHERE user_id = %(user_id)s",
    "DELETE FROM crons WHERE user_id = %(user_id)s",
)
ASSISTANTS: Final[tuple[LiteralString, LiteralString]] = (
    "SELECT count(*) AS n FROM assistant WHERE user_id = %(user_id)s",
    "DELETE FROM assistant WHERE user_id = %(user_id)s",
)
RUNS: Final[tuple[LiteralString, LiteralString]] = (
    """
    SELECT count(*) AS n FROM runs
    WHERE user_id = %(user_id)s AND thread_id = ANY (%(threads)s) AND status NOT IN ('pending', 'running')
    """,
    """
    DELETE FROM runs
    WHERE user_id = %(user_id)s AND thread_id = ANY (%(threads)s) AND status NOT IN ('pending', 'running')
    """,
)
"""How many there are, and what deletes them."""

UNNAMED: Final[LiteralString] = """
UPDATE thread SET metadata_json = metadata_json || '{"thread_name": ""}'::jsonb
WHERE user_id = %(user_id)s AND thread_id = ANY (%(threads)s)
"""
"""Aegra names a thread by its first message."""

THREADS: Final[LiteralString] = "SELECT thread_id FROM thread WHERE user_id = %(user_id)s"


class AegraRows:
    """Erases them. Threads go by Aegra's own function, which cancels their runs and deletes their checkpoints."""

    name = "Aegra"

    async def erase(self, user_id: str, *, scope: Scope, threads: Collection[str], dry_run: bool) -> Mapping[str, int]:
        """Delete what is there of a user, or only count it; return how many, by kind.

        A thread of which a part goes loses its runs that are over, which have their inputs, and its name.
        """
        given = {"user_id": user_id, "threads": list(threads)}
        if scope.name == "all":
            counts = {"crons": await _delete(CRONS, given, dry_run=dry_run)}  # first: they make runs and threads
            counts["threads"] = await _threads(user_id, await _owned(given), dry_run=dry_run)
            return {**counts, "assistants": await _delete(ASSISTANTS, given, dry_run=dry_run)}
        if scope.name == "thread":
            found = [thread for thread in await _owned(given) if thread in threads]
            return {"threads": await _threads(user_id, found, dry_run=dry_run)}
        counts = {"runs": await _delete(RUNS, given, dry_run=dry_run)}
        if not dry_run:
            await _rows(UNNAMED, given)
        return counts


async def _threads(user_id: str, found: Collection[str], *, dry_run: bool) -> int:
    for thread in () if dry_run else found:
        await delete_thread_by_id(thread, user_id)
    return len(found)


async def _owned(given: Mapping[str, Any]) -> list[str]:
    return [row["thread_id"] for row in await _rows(THREADS, given)]


async def _delete(statements: tuple[LiteralString, LiteralString], given: Mapping[str, Any], *, dry_run: bool) -> int:
    count, delete = statements
    (found,) = await _rows(count, given)
    if not dry_run:
        await _rows(delete, given)
    return int(found["n"])


async def _rows(statement: LiteralString, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    async with db_manager.lg_pool.connection() as conn:
        cursor = await conn.execute(statement, given)
        return await cursor.fetchall() if cursor.description is not None else []

"""What the LangGraph server that we run in has of a user: threads with their runs, crons, and assistants of theirs."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal

from langgraph_sdk import get_client

from discreet.api.auth.owners import OWNER
from discreet.rights.erasure import Scope

SERVER: Final = "langgraph_api.server"
"""The module of the server's application. It is loaded where the server runs us; others of its package may be without it."""

PAGE: Final = 100

SHOWN: Final = "threads that show their last state until they go on"

UNDER_WAY: Final = frozenset({"pending", "running"})
"""States of a run that is not over: it is refused what it would store."""

WAITING: Final = frozenset({"busy", "interrupted"})
"""States of a thread in which no other state may be put."""

Kind = Literal["threads", "crons", "assistants"]
Row = Mapping[str, Any]


class ServerRows:
    """Erases them through the server's own API, from within."""

    name = "LangGraph server"

    @staticmethod
    def are_there() -> bool:
        """Tell whether a LangGraph server runs us."""
        return SERVER in sys.modules

    async def erase(self, user_id: str, *, scope: Scope, threads: Collection[str], dry_run: bool) -> Mapping[str, int]:
        """Delete what is there of a user, or only count it; return how many, by kind.

        A thread of which a part goes loses its runs that are over, which have their inputs, and shows the state that is left. One that
        waits for its user shows its last state until they have answered.
        """
        client = get_client(api_key=None)
        counts: dict[str, int] = {}
        if scope.name == "all":
            kinds: tuple[Kind, ...] = ("crons", "threads", "assistants")  # a cron makes runs and threads
            for kind in kinds:
                counts[kind] = await _delete(client, kind, await _owned(client, kind, user_id), dry_run=dry_run)
            return counts
        owned = await _owned(client, "threads", user_id) if threads else []
        found = [thread for thread in owned if thread["thread_id"] in threads]
        if scope.name == "thread":
            return {"threads": await _delete(client, "threads", found, dry_run=dry_run)}
        for thread in found:
            counts["runs"] = counts.get("runs", 0) + await _forget_runs(client, thread, dry_run=dry_run)
            if thread["status"] in WAITING:
                counts[SHOWN] = counts.get(SHOWN, 0) + 1
        return counts


async def _delete(client: Any, kind: Kind, rows: Sequence[Row], *, dry_run: bool) -> int:
    for row in () if dry_run else rows:
        await getattr(client, kind).delete(row[f"{kind[:-1]}_id"])
    return len(rows)


async def _forget_runs(client: Any, thread: Row, *, dry_run: bool) -> int:
    thread_id = thread["thread_id"]
    runs = [run for run in await _pages(partial(client.runs.list, thread_id)) if run["status"] not in UNDER_WAY]
    for run in () if dry_run else runs:
        await client.runs.delete(thread_id, run["run_id"])
    if not dry_run and thread["status"] not in WAITING:
        await client.threads.update_state(thread_id, None)  # of nothing: the server reads the state anew
    return len(runs)


async def _owned(client: Any, kind: Kind, user_id: str) -> list[Row]:
    """Return what is a user's. All is found before the first is deleted, so that no page is passed over."""
    narrowed = {} if kind == "crons" else {"metadata": {OWNER: user_id}}
    rows = await _pages(partial(getattr(client, kind).search, **narrowed))
    return [row for row in rows if (row.get("metadata") or {}).get(OWNER) == user_id]


async def _pages(search: Callable[..., Awaitable[Sequence[Row]]]) -> list[Row]:
    rows: list[Row] = []
    while len(page := await search(limit=PAGE, offset=len(rows))) == PAGE:
        rows += page
    return [*rows, *page]

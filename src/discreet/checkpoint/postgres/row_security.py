"""Which thread a statement is about, where the database itself keeps users apart: told in the statement's own transaction.

Who knows the id of a thread may read it, as LangGraph has it. So the policies of `discreet roles` show the rows of the one thread that the
transaction names in the parameter discreet.thread, and no others: neither those of its owner's other threads, nor those that
other savers stored for nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from discreet.checkpoint.postgres.threads import OWN_COPY, OWNER_OF_SOURCE
from discreet.row_security import SEES_EVERYBODY, names_nobody, tables_of

IS_IN_FORCE = f"""
SELECT
    row_security_active(c.oid) AND NOT {SEES_EVERYBODY.format(table="c.oid")} AS in_force,
    EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS cluster
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = 'checkpoints'
"""
"""Whether policies apply to this role, and on what. No row while there are no tables."""

NAME_THREAD: Final = "SELECT set_config('discreet.thread', %s, true)"

THREADS_OF_RUNS = "SELECT DISTINCT thread_id FROM checkpoints WHERE metadata ->> 'run_id' = ANY(%(run_ids)s)"
"""Names no thread: who knows the id of a run may delete its checkpoints, as LangGraph has it."""

_BY_FUNCTION: Final[Mapping[str, str]] = {
    THREADS_OF_RUNS: "SELECT thread_id FROM checkpoint_threads_of_runs(%(run_ids)s) AS t (thread_id)",
    OWNER_OF_SOURCE: "SELECT NULL::uuid AS user_key, NULL::timestamptz AS oldest_at",
    OWN_COPY: "SELECT true AS is_done FROM checkpoint_own_copy(%(source)s, %(target)s)",
}
"""What a copy's owner is, the database finds out by itself: nobody's key is shown."""

_OF_NO_THREAD: Final = frozenset({"checkpoint_migrations", "checkpoint_threads_of_runs", "checkpoint_own_copy"})
"""What a statement may be about without one: the version of the tables, and the functions."""


def by_function(query: str) -> str:
    """Return `query`, or what a function of `discreet roles` answers where this role may not see what it asks for."""
    return _BY_FUNCTION.get(query, query)


def named_by(query: str, params: Any) -> str | None:
    """Return the thread to name for a statement; None if it needs none.

    Raises:
        StorageError: It is about rows of threads, and says not of which one.
    """
    thread = thread_of(query, params)
    if thread is None and any(name.startswith("checkpoint") for name in tables_of(by_function(query)) - _OF_NO_THREAD):
        raise names_nobody("thread")
    return thread


def thread_of(query: str, params: Any) -> str | None:
    """Return the thread that a statement is about; None if it says none: then it is for a role that sees all of them."""
    if isinstance(params, Mapping):
        if "thread_ids" in params:
            threads: Sequence[str] = params["thread_ids"]
            return threads[0] if len(threads) == 1 else None
        return next((params[name] for name in ("thread_id", "target", "source") if name in params), None)
    place = _place_of_thread(query)
    if place is None or not isinstance(params, Sequence) or isinstance(params, (str, bytes)):
        return None
    return str(params[place])


@lru_cache(maxsize=64)
def _place_of_thread(query: str) -> int | None:
    """Return which parameter of a query of LangGraph's is the thread; None if it is about all."""
    before, found, _ = query.lower().partition("thread_id = %s")
    return before.count("%s") if found else None

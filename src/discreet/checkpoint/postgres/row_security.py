"""Whose thread a statement is about, where the database itself keeps users apart: told in the statement's own transaction.

Who knows the id of a thread may read it, as LangGraph has it. So the policies of `discreet roles` show the rows of one
thread's owner: the function checkpoint_owner says who that is, and is asked in one round trip with the statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from discreet.checkpoint.postgres.names import quoted
from discreet.checkpoint.postgres.routing import OF_THREAD
from discreet.row_security import SEES_EVERYBODY

IS_IN_FORCE = f"""
SELECT
    row_security_active(c.oid) AND NOT {SEES_EVERYBODY.format(table="c.oid")} AS in_force,
    EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS cluster
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = 'checkpoints'
"""
"""Whether policies apply to this role, and on what. No row while there are no tables."""

_NAME = "SELECT set_config('discreet.user_key', array_to_string({schema}.checkpoint_owner(%(thread)s, %(otherwise)s) || %(also)s::uuid[], ','), true)"
FIND = "SELECT array_to_string({schema}.checkpoint_owner(%(thread)s, %(otherwise)s) || %(also)s::uuid[], ',') AS users"
"""For a cluster, which hands on no parameter but one that is set by a statement of its own, SET LOCAL."""

THREADS_OF_RUNS = "SELECT DISTINCT thread_id FROM checkpoints WHERE metadata ->> 'run_id' = ANY(%(run_ids)s)"
"""Names no thread: who knows the id of a run may delete its checkpoints, as LangGraph has it."""

_BY_FUNCTION = {THREADS_OF_RUNS: "SELECT thread_id FROM checkpoint_threads_of_runs(%(run_ids)s) AS t (thread_id)"}


def by_function(query: str) -> str:
    """Return `query`, or the one that a function of `discreet roles` answers where this role sees no rows for it."""
    return _BY_FUNCTION.get(query, query)


class Told(NamedTuple):
    """Whose rows a statement needs."""

    thread: str | None
    """The owner of this thread; None: tombstones, and what other savers stored."""
    otherwise: UUID | None = None
    """Whose it is if it is new."""
    also: Sequence[UUID] = ()
    """Between whom it changes hands."""

    def params(self) -> dict[str, Any]:
        """Return it for a statement."""
        return {"thread": self.thread, "otherwise": self.otherwise, "also": list(self.also)}


def telling(schema: str) -> str:
    """Return the statement that names who `Told` says."""
    return _NAME.format(schema=quoted(schema))


def finding(schema: str) -> str:
    """Return the statement that finds who `Told` says."""
    return FIND.format(schema=quoted(schema))


def told_by(query: str, params: Any) -> Told | None:
    """Return whose rows a statement needs; None if it says no thread: then it is for a role that sees all of them."""
    if isinstance(params, Mapping):
        if "thread_ids" in params:
            threads: Sequence[str] = params["thread_ids"]  # of several only what is nobody's is seen
            return Told(threads[0] if len(threads) == 1 else None)
        thread = next((params[name] for name in ("thread_id", "target", "source") if name in params), None)
        if thread is None:
            return None
        owner: Any = params.get("user_key")
        if "thread_key" in params:
            return Told(thread, owner, (owner, params["thread_key"]))
        return Told(thread, next(iter(owner), None) if isinstance(owner, list) else owner)
    if isinstance(params, Sequence) and not isinstance(params, (str, bytes)) and OF_THREAD in query:
        return Told(params[0])
    return None

"""Functions that policies ask for whom a transaction works, and those by which the application does a few things with more rights than its own.

Types are named with pg_catalog, or looked for there first. pg_temp, where it isn't named, would be looked through before that, and
who may make temporary types would have code of their own run with the rights of the second. For the same reason none of these is a superuser's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, LiteralString

from psycopg.sql import SQL, Composed, Identifier, Literal

from discreet.storage.database.roles.names import RoleNames
from discreet.storage.database.roles.tables import NOBODY, Database

_MINE: Final[LiteralString] = """
CREATE OR REPLACE FUNCTION {schema}.mine() RETURNS uuid[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    named pg_catalog.text := nullif(current_setting('discreet.user_key', true), '');
BEGIN
    IF named IS NULL THEN
        RAISE EXCEPTION 'this transaction names no user in discreet.user_key' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN string_to_array(named, ',')::pg_catalog.uuid[];
END
$$"""
"""For whom a transaction works: the application names them in the parameter discreet.user_key. Nobody named is an error, since a policy that
matches nothing would make a deletion of nothing look like a success."""

_ME: Final[LiteralString] = """
CREATE OR REPLACE FUNCTION {schema}.me() RETURNS uuid
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    named pg_catalog.text := nullif(current_setting('discreet.user_key', true), '');
BEGIN
    IF named IS NULL THEN
        RAISE EXCEPTION 'this transaction names no user in discreet.user_key' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN named::pg_catalog.uuid;
END
$$"""
"""The same where it is one user."""

_CHECKPOINT_OWNER: Final[LiteralString] = """
CREATE OR REPLACE FUNCTION {schema}.checkpoint_owner(thread text, otherwise uuid) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN coalesce(
    (SELECT nullif(user_key, {nobody}) FROM {schema}.checkpoint_threads WHERE thread_id = thread), otherwise, {nobody}
)"""
"""Tells whose a thread is: who knows the id of a thread may read it, as LangGraph has it."""

_THREADS_OF_RUNS: Final[LiteralString] = """
CREATE OR REPLACE FUNCTION {schema}.checkpoint_threads_of_runs(runs text[]) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT DISTINCT thread_id FROM {schema}.checkpoints WHERE metadata ->> 'run_id' = ANY (runs);
END"""
"""Tells of which threads runs are: who knows the id of a run may delete its checkpoints."""

_READ_FOR: Final[LiteralString] = """
CREATE OR REPLACE FUNCTION {schema}.read_for(person uuid, delegate uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM {schema}.delegation d
        WHERE d.user_key = person AND d.delegate_key = delegate AND d.revoked_at IS NULL
          AND (d.expires_at IS NULL OR d.expires_at > now())
    ) THEN
        RAISE EXCEPTION 'this user lets nobody of that key read' USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM set_config('transaction_read_only', 'on', true);
    PERFORM set_config('discreet.user_key', person::text, true);
END
$$"""
"""Lets the transaction read for somebody what a user lets them read, and write nothing."""


FUNCTIONS: Final = frozenset({"checkpoint_owner", "checkpoint_threads_of_runs", "read_for"})
"""Those with more rights."""


def naming(schema: str) -> Iterator[Composed]:
    """Yield what makes those that policies ask."""
    for source in (_MINE, _ME):
        yield SQL(source).format(schema=Identifier(schema))


def functions(there: Database, names: RoleNames) -> Iterator[Composed]:
    """Yield what makes those with more rights, each beside the table that it reads, and its owner's."""
    for table in there.tables:
        owner = names.worker if table.owner in there.superusers else table.owner
        if table.name == "checkpoint_threads":
            callers = (names.app, names.worker)
            yield from _made(_CHECKPOINT_OWNER, "checkpoint_owner(text, uuid)", callers, table.schema, owner)
            yield from _made(_THREADS_OF_RUNS, "checkpoint_threads_of_runs(text[])", callers, table.schema, owner)
        if (table.schema, table.name) == (there.schema, "users"):
            yield from _made(_READ_FOR, "read_for(uuid, uuid)", (names.app,), table.schema, owner)


def _made(
    source: LiteralString, name: LiteralString, callers: Sequence[str], schema: str, owner: str
) -> Iterator[Composed]:
    function = SQL("{}.{}").format(Identifier(schema), SQL(name))
    nobody = SQL("{}::uuid").format(Literal(str(NOBODY)))
    yield SQL(source).format(schema=Identifier(schema), nobody=nobody)
    yield SQL("ALTER FUNCTION {} OWNER TO {}").format(function, Identifier(owner))
    yield SQL("REVOKE ALL ON FUNCTION {} FROM PUBLIC").format(function)
    for role in callers:
        yield SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(function, Identifier(role))

"""Functions that policies ask for whom a transaction works, and those by which the application does a few things with more rights than its own.

Types are named with pg_catalog, or looked for there first. pg_temp, where it isn't named, would be looked through before that, and
who may make temporary types would have code of their own run with the rights of the second. For the same reason none of these is a superuser's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, LiteralString

from psycopg.sql import SQL, Composed, Identifier, Literal

from discreet.storage.database.roles.names import RoleNames
from discreet.storage.database.roles.tables import NOBODY, Database, Table

NOBODYS_KEY: Final = SQL("{}::pg_catalog.uuid").format(Literal(str(NOBODY)))
"""What belongs to nobody is never somebody's."""

_NAMED: Final[LiteralString] = """
CREATE OR REPLACE FUNCTION {schema}.{function}() RETURNS {type}
LANGUAGE sql STABLE PARALLEL SAFE
RETURN {value}"""
"""What a transaction works for, by a parameter that the application sets; NULL, which no row equals, where that names nothing.

None of them ever raises, whatever the parameter holds: a condition of the caller's may be looked at before the policy, and an error
of the policy would tell that a row of somebody else fulfils it. So values are looked at before they are read as keys, and no longer ones than
can be. What they call is written into the statement that asks, and named once, when they are made: no search_path of a caller's finds another.
"""

_KEY: Final[LiteralString] = "[0-9a-f]{{8}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{12}}"

_NAMING: Final[Sequence[tuple[LiteralString, LiteralString, LiteralString]]] = (
    (
        "mine",
        "uuid[]",
        f"""CASE WHEN octet_length(current_setting('discreet.user_key', true)) <= {{longest}} THEN
    CASE WHEN current_setting('discreet.user_key', true) COLLATE "C" ~ '^{_KEY}(?:,{_KEY})*$'
        THEN ('{{{{' || current_setting('discreet.user_key', true) || '}}}}')::pg_catalog.uuid[] END END""",
    ),
    (
        "me",
        "uuid",
        f"""CASE WHEN octet_length(current_setting('discreet.user_key', true)) = 36 THEN
    CASE WHEN current_setting('discreet.user_key', true) COLLATE "C" ~ '^{_KEY}$'
        THEN current_setting('discreet.user_key', true)::pg_catalog.uuid END END""",
    ),
    ("named_thread", "text", "nullif(current_setting('discreet.thread', true), '')"),
)
"""Function, type and value. `mine` is one or several users. `me` is one user, or nobody in particular, to whose chain of the audit trail
an entry is added. Who knows the id of a thread may read it, as LangGraph has it."""

LONGEST: Final = 2**24
"""Octets in which users are named: 450,000 of them. An array of many more could not be made, which is an error."""

_THREADS_OF_RUNS: Final[LiteralString] = """
CREATE OR REPLACE FUNCTION {schema}.checkpoint_threads_of_runs(runs text[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY SELECT DISTINCT c.thread_id FROM {schema}.checkpoints c WHERE c.metadata ->> 'run_id' = ANY (runs);
END
$$"""
"""Tells of which threads runs are: who knows the id of a run may delete its checkpoints."""

_THREADS_OF_MINE: Final[LiteralString] = """
CREATE OR REPLACE FUNCTION {schema}.checkpoint_threads_of_mine(after text, most bigint) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    person pg_catalog.uuid := {ours}.me();
BEGIN
    RETURN QUERY SELECT t.thread_id FROM {schema}.checkpoint_threads t
        WHERE t.user_key = person AND person <> {nobody} AND t.thread_id > after ORDER BY t.thread_id LIMIT most;
END
$$"""
"""Lists the threads of the user whom the transaction names."""

_OWN_COPY: Final[LiteralString] = """
CREATE OR REPLACE FUNCTION {schema}.checkpoint_own_copy(source text, target text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    person pg_catalog.uuid := {nobody};
    since pg_catalog.timestamptz := 'epoch';
BEGIN
    SELECT t.user_key, t.oldest_at INTO person, since FROM {schema}.checkpoint_threads t WHERE t.thread_id = source;
    INSERT INTO {schema}.checkpoint_threads AS t (thread_id, user_key, oldest_at)
        VALUES (target, coalesce(person, {nobody}), coalesce(since, 'epoch'))
        ON CONFLICT (thread_id) DO UPDATE SET user_key = excluded.user_key, oldest_at = excluded.oldest_at
        WHERE t.deleted_at IS NOT NULL;
END
$$"""
"""Gives a copy of a thread the owner of that, whom it doesn't tell."""

_STORE_PATHS: Final[LiteralString] = """
CREATE OR REPLACE FUNCTION {schema}.store_paths(low text, high text) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY SELECT n.path FROM {schema}.store_namespace n WHERE n.path >= low AND n.path < high;
END
$$"""
"""Lists the labels of everybody's namespaces. A migration makes it, with the caller's rights. Citus plans no function in SQL over spread tables."""

_ERASURES_SINCE: Final[LiteralString] = """
CREATE OR REPLACE FUNCTION {schema}.erasures_since(since timestamptz)
RETURNS TABLE (erasure_key uuid, done_at timestamptz, person uuid, threads uuid[], turns text[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT e.erasure_key, e.done_at, substr(encode(sha256(uuid_send(e.user_key)), 'hex'), 1, 32)::uuid,
        ARRAY(SELECT substr(encode(sha256(uuid_send(t)), 'hex'), 1, 32)::uuid FROM unnest(e.threads) t),
        ARRAY(SELECT encode(sha256(convert_to(t, 'UTF8')), 'hex') FROM unnest(e.turns) t)
    FROM {schema}.erasure e
    WHERE greatest(e.asked_at, e.done_at) > since
$$"""
"""Tells of everybody's erasures by digests. A migration makes it, with the caller's rights."""

_READ_FOR: Final[LiteralString] = """
CREATE OR REPLACE FUNCTION {schema}.read_for(person uuid, delegate uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM {schema}.delegation d
        WHERE d.user_key = person AND d.revoked_at IS NULL
          AND d.delegate_key = substr(encode(sha256(uuid_send(delegate)), 'hex'), 1, 32)::uuid
          AND (d.expires_at IS NULL OR d.expires_at > now())
    ) THEN
        RAISE EXCEPTION 'this user lets nobody of that key read' USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM set_config('transaction_read_only', 'on', true);
    PERFORM set_config('discreet.user_key', person::text, true);
END
$$"""
"""Lets the transaction read for somebody what a user lets them read, and write nothing."""


FUNCTIONS: Final = frozenset(
    {
        "analysis_memories_counted",
        "analysis_turns_counted",
        "checkpoint_own_copy",
        "checkpoint_threads_of_mine",
        "checkpoint_threads_of_runs",
        "erasures_since",
        "read_for",
        "store_paths",
    }
)
"""Those with more rights."""


def naming(schema: str) -> Iterator[Composed]:
    """Yield what makes those that policies ask."""
    for function, kind, value in _NAMING:
        yield SQL(_NAMED).format(
            schema=Identifier(schema),
            function=Identifier(function),
            type=SQL(kind),
            value=SQL(value).format(longest=Literal(LONGEST)),
        )


def functions(there: Database, names: RoleNames) -> Iterator[Composed]:
    """Yield what makes those with more rights, each beside the table that it reads, and its owner's."""
    both = (names.app, names.worker)
    for table in there.tables:
        made = partial(_made, there, names, table)
        if table.name == "checkpoint_threads":
            yield from made(_THREADS_OF_RUNS, "checkpoint_threads_of_runs(text[])", callers=both)
            yield from made(_THREADS_OF_MINE, "checkpoint_threads_of_mine(text, bigint)", callers=both)
            yield from made(_OWN_COPY, "checkpoint_own_copy(text, text)", callers=both)
        if (table.schema, table.name) == (there.schema, "users"):
            yield from made(_READ_FOR, "read_for(uuid, uuid)", callers=(names.app,))
            yield from made(_STORE_PATHS, "store_paths(text, text)", callers=both)
            yield from made(_ERASURES_SINCE, "erasures_since(timestamptz)", callers=both)


def _made(
    there: Database,
    names: RoleNames,
    table: Table,
    source: LiteralString,
    name: LiteralString,
    *,
    callers: Sequence[str],
) -> Iterator[Composed]:
    schema = Identifier(table.schema)
    yield SQL(source).format(schema=schema, ours=Identifier(there.schema), nobody=NOBODYS_KEY)
    yield from with_rights(there, names, SQL("{}.{}").format(schema, SQL(name)), table.owner, callers)


def with_rights(
    there: Database, names: RoleNames, function: Composed, owner: str, callers: Sequence[str]
) -> Iterator[Composed]:
    """Yield what gives a function the rights of `owner`, or those of the worker in place of a superuser's, and has `callers` alone call it."""
    of = names.worker if owner in there.superusers else owner
    yield SQL("ALTER FUNCTION {} OWNER TO {}").format(function, Identifier(of))
    yield SQL("REVOKE ALL ON FUNCTION {} FROM PUBLIC").format(function)
    for role in callers:
        yield SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(function, Identifier(role))

"""What a program deletes of a thread by SQL of its own: with the last of LangGraph's rows go those that we keep beside them.

Programs clear a chat by `DELETE FROM checkpoints WHERE thread_id = …`, and the same of LangGraph's other tables, whose names they know. A
trigger deletes the thread's messages and its paused turn with its last checkpoint, and leaves a tombstone: no process that has the thread in
RAM brings it back. It costs deletions something, and nothing else.
"""

from __future__ import annotations

from typing import Final

from psycopg.sql import Literal

from discreet.checkpoint.postgres.names import quoted
from discreet.checkpoint.postgres.statements import Statement
from discreet.checkpoint.postgres.threads import NOBODY
from discreet.shown_keys import shown_key

TRIGGER: Final = "checkpoint_forgotten"
"""On `checkpoints`, and its function beside it. On each deletion; with `_all` behind it, on TRUNCATE."""

IS_THERE: Final = f"""EXISTS (
        SELECT FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        WHERE c.relnamespace = n.oid AND c.relname = 'checkpoints' AND t.tgname = '{TRIGGER}'
    )"""
"""Whether the schema `n` has it."""

_FUNCTION: Final = """
CREATE OR REPLACE FUNCTION {schema}.{name}() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    forgotten text;
    moment timestamptz := clock_timestamp();
BEGIN
    FOR forgotten IN {threads} LOOP
        CONTINUE WHEN EXISTS (SELECT FROM {schema}.checkpoints WHERE thread_id = forgotten);
        DELETE FROM {schema}.checkpoint_messages WHERE thread_id = forgotten;
        CONTINUE WHEN NOT FOUND;
        IF to_regclass({spill}) IS NOT NULL THEN
            DELETE FROM {schema}.checkpoint_spill WHERE thread_id = forgotten;
        END IF;
        UPDATE {schema}.checkpoint_threads SET
            user_key = {nobody},
            deleted_at = greatest(
                moment, (deleted_at AT TIME ZONE 'UTC' + interval '1 microsecond') AT TIME ZONE 'UTC'
            )
        WHERE thread_id = forgotten AND (owner <> {owner_nobody} OR deleted_at IS NULL);
    END LOOP;
    RETURN NULL;
END
$$
"""
"""One thread after the other, each statement of one alone: on a cluster such a statement stays on the node of the thread. It has the rights of
whoever deletes, whom row security shows what it shows them. A statement of ours has deleted the messages itself, and has left a tombstone if
the thread is not to come back; that of a run's checkpoints leaves none."""

_ON_DELETE: Final = f"""
CREATE TRIGGER {TRIGGER} AFTER DELETE ON {{schema}}.checkpoints REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION {{schema}}.{TRIGGER}()
"""
_ON_TRUNCATE: Final = f"""
CREATE TRIGGER {TRIGGER}_all AFTER TRUNCATE ON {{schema}}.checkpoints
FOR EACH STATEMENT EXECUTE FUNCTION {{schema}}.{TRIGGER}_all()
"""

ALLOWED_ON_A_CLUSTER: Final = "SET LOCAL citus.enable_unsafe_triggers = on"
"""Citus has triggers run on the nodes, where ours finds a thread's rows. Elsewhere the parameter is nobody's."""


def forgetting(schema: str) -> list[Statement]:
    """Return what makes the triggers, in one transaction."""
    return [
        Statement(ALLOWED_ON_A_CLUSTER),
        Statement(_function(schema, TRIGGER, "SELECT DISTINCT thread_id FROM gone")),
        Statement(_ON_DELETE.format(schema=quoted(schema))),
        Statement(
            _function(
                schema, f"{TRIGGER}_all", f"SELECT thread_id FROM {quoted(schema)}.checkpoint_threads"
            )  # a name of ours
        ),
        Statement(_ON_TRUNCATE.format(schema=quoted(schema))),
    ]


def _function(schema: str, name: str, threads: str) -> str:
    return _FUNCTION.format(
        schema=quoted(schema),
        name=name,
        threads=threads,
        spill=Literal(f"{quoted(schema)}.checkpoint_spill").as_string(),
        nobody=f"'{NOBODY}'::uuid",
        owner_nobody=f"'{shown_key(NOBODY)}'::uuid",
    )

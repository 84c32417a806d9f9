"""Prune threads of a stock saver's tables to their newest states, by the rules of ours."""

from __future__ import annotations

from psycopg.rows import dict_row

from discreet.checkpoint.postgres.names import qualify, quoted
from discreet.checkpoint.postgres.prunes import prune_rows, row_of, rows_to_prune
from discreet.checkpoint.pruning import Pruning
from discreet.driver_errors import storage_errors
from discreet.scanning.databases import Table
from discreet.scanning.databases.postgres import PostgresDatabase

_HAS_MESSAGES = "SELECT to_regclass(%s) IS NOT NULL"


def prune_thread(database: PostgresDatabase, checkpoints: Table, thread_id: str, *, dry_run: bool) -> int | None:
    """Delete all checkpoints of a thread but its newest states, and what nothing uses then; return how many there were.

    None: a thread with a `DeltaChannel`, whose history is its value, so that nothing of it was pruned.
    """
    conn = database.connection
    statement = rows_to_prune(thread_id)
    schema = checkpoints.schema
    with storage_errors(), database.batch():
        cursor = conn.cursor(row_factory=dict_row)
        rows = [row_of(found) for found in cursor.execute(qualify(statement.sql, schema), statement.params)]
        try:
            gone = Pruning().gone(rows)
        except NotImplementedError:  # what LangGraph's own prune raises for such a thread, and so ours
            return None
        if gone and not dry_run:
            messages = f"{quoted(schema)}.checkpoint_messages"
            stock = not cursor.execute(_HAS_MESSAGES, [messages]).fetchone()["?column?"]  # type: ignore[index]  # of one row
            pruned = prune_rows(thread_id, gone, stock=stock)
            conn.execute(qualify(pruned.sql, schema), pruned.params)
        return len(gone)

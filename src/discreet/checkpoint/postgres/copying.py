"""Copy a thread row by row: on a cluster the copy may lie on another node, so no statement reads one and writes the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.types.json import Jsonb

from discreet.checkpoint.postgres.puts import Steps
from discreet.checkpoint.postgres.statements import Statement
from discreet.checkpoint.postgres.threads import NOBODY, OWN_COPY, OWNER_OF_SOURCE

_COLUMNS: dict[str, Mapping[str, str]] = {
    "checkpoint_messages": {
        "checkpoint_ns": "text",
        "channel": "text",
        "position": "int",
        "message_id": "text",
        "kind": "text",
        "content": "text",
        "tool": "text",
        "created_at": "timestamptz",
    },
    "checkpoint_blobs": {
        "checkpoint_ns": "text",
        "channel": "text",
        "version": "text",
        "type": "text",
        "blob": "bytea",
    },
    "checkpoint_writes": {
        "checkpoint_ns": "text",
        "checkpoint_id": "text",
        "task_id": "text",
        "task_path": "text",
        "idx": "int",
        "channel": "text",
        "type": "text",
        "blob": "bytea",
    },
    "checkpoints": {
        "checkpoint_ns": "text",
        "checkpoint_id": "text",
        "parent_checkpoint_id": "text",
        "type": "text",
        "checkpoint": "jsonb",
        "metadata": "jsonb",
    },
}
"""What is copied, table by table. Checkpoints come last: before them nothing of the copy is seen."""

_MESSAGES = """
SELECT checkpoint_ns, channel, position, message_id, kind, content FROM checkpoint_messages WHERE thread_id = %(thread_id)s
"""


def copy_thread(source_thread_id: str, target_thread_id: str) -> Steps[bool]:
    """Copy a thread with its history and its writes. Return whether it was, which it isn't over other messages.

    May be repeated. Nothing is copied over other messages: checkpoints name rows by their positions.
    """
    source, target = str(source_thread_id), str(target_thread_id)
    theirs = _by_place((yield Statement(_MESSAGES, {"thread_id": source}, returns=True)))
    there = _by_place((yield Statement(_MESSAGES, {"thread_id": target}, returns=True)))
    if any(said != theirs.get(place, said) for place, said in there.items()):
        return False
    owners = yield Statement(OWNER_OF_SOURCE, {"source": source}, returns=True)
    owner = owners[0] if owners else {"user_key": NOBODY, "oldest_at": "epoch"}
    yield Statement(OWN_COPY, {"source": source, "target": target, **owner})
    # Checkpoints are read first: whatever is stored meanwhile, what those have that were read is there to be copied.
    found: dict[str, Sequence[Mapping[str, Any]] | None] = {}
    for table in reversed(_COLUMNS):
        found[table] = yield _read(table, source)
    for table in _COLUMNS:
        if rows := found[table]:
            yield _write(table, target, rows)
    return True


def _by_place(answer: Sequence[Mapping[str, Any]] | None) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    return {
        (row["checkpoint_ns"], row["channel"], row["position"]): (row["message_id"], row["kind"], row["content"])
        for row in answer or ()
    }


def _read(table: str, thread_id: str) -> Statement:
    return Statement(
        f"SELECT {', '.join(_COLUMNS[table])} FROM {table} WHERE thread_id = %(thread_id)s",
        {"thread_id": thread_id},
        returns=True,
    )


def _write(table: str, thread_id: str, rows: Sequence[Mapping[str, Any]]) -> Statement:
    columns = _COLUMNS[table]
    arrays = ", ".join(f"%({name})s::{kind}[]" for name, kind in columns.items())
    values: dict[str, Any] = {
        name: [Jsonb(row[name]) if kind == "jsonb" else row[name] for row in rows] for name, kind in columns.items()
    }
    return Statement(
        f"INSERT INTO {table} (thread_id, {', '.join(columns)}) "
        f"SELECT t.thread_id, r.* FROM checkpoint_threads t CROSS JOIN unnest({arrays}) AS r "
        "WHERE t.thread_id = %(thread_id)s ON CONFLICT DO NOTHING",
        {**values, "thread_id": thread_id},
    )

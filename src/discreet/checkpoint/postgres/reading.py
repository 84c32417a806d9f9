"""Read checkpoints: what to ask for, and what the rows say. No I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    CheckpointTuple,
    PendingWrite,
    get_checkpoint_id,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import TASKS
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from discreet.checkpoint.checkpoint_ref import bare
from discreet.checkpoint.postgres.statements import SELECT

_SENDS_IN_VALUES: Final = 4
"""The version of checkpoints from which on what a step sends to others is among its values, not among the writes of its parent."""

SENDS: Final = f"""
SELECT checkpoint_ns, checkpoint_id, array_agg(array[type::bytea, blob] ORDER BY task_path, task_id, idx) AS sends
FROM checkpoint_writes
WHERE thread_id = %s AND checkpoint_id = ANY (%s) AND channel = '{TASKS}'
GROUP BY checkpoint_ns, checkpoint_id
"""


class Question(NamedTuple):
    """What to ask the database."""

    sql: str
    params: Sequence[Any]


def one(config: RunnableConfig) -> Question:
    """Return what asks for the checkpoint that `config` names, or the newest."""
    names = config["configurable"]
    place = [names["thread_id"], names.get("checkpoint_ns", "")]
    if checkpoint_id := get_checkpoint_id(config):
        where = "WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s"
        return Question(SELECT + where, [*place, checkpoint_id])
    where = "WHERE thread_id = %s AND checkpoint_ns = %s ORDER BY checkpoint_id DESC LIMIT 1"
    return Question(SELECT + where, place)


def condition(
    config: RunnableConfig | None, metadata: Mapping[str, Any] | None, before: RunnableConfig | None
) -> Question:
    """Return the condition of a listing; an empty one for all checkpoints of all threads."""
    parts: list[tuple[str, Any]] = []
    if config is not None:
        names = config["configurable"]
        parts.append(("thread_id = %s", names["thread_id"]))
        if (ns := names.get("checkpoint_ns")) is not None:
            parts.append(("checkpoint_ns = %s", ns))
        if checkpoint_id := get_checkpoint_id(config):
            parts.append(("checkpoint_id = %s", checkpoint_id))
    if metadata:
        parts.append(("metadata @> %s", Jsonb(metadata)))
    if before is not None:
        parts.append(("checkpoint_id < %s", get_checkpoint_id(before)))
    where = "WHERE " + " AND ".join(sql for sql, _ in parts) if parts else ""
    return Question(where, [value for _, value in parts])


def listed(
    config: RunnableConfig | None,
    metadata: Mapping[str, Any] | None,
    before: RunnableConfig | None,
    limit: int | None,
) -> Question:
    """Return what asks for a page of a listing, newest first."""
    where, values = condition(config, metadata, before)
    sql = f"{SELECT}{where} ORDER BY checkpoint_id DESC"
    return Question(sql, values) if limit is None else Question(f"{sql} LIMIT %s", [*values, limit])


def sent(rows: Sequence[DictRow]) -> list[Question]:
    """Return what asks, thread by thread, for what old checkpoints among `rows` were sent."""
    parents: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row["checkpoint"]["v"] < _SENDS_IN_VALUES and row["parent_checkpoint_id"]:
            parents[row["thread_id"]].add(row["parent_checkpoint_id"])
    return [Question(SENDS, [thread_id, sorted(found)]) for thread_id, found in parents.items()]


def add_sent(
    saver: BaseCheckpointSaver[Any], rows: Sequence[DictRow], asked: Question, found: Sequence[Mapping[str, Any]]
) -> None:
    """Put what old checkpoints were sent among their values, as LangGraph has it in newer ones."""
    sends = {(each["checkpoint_ns"], each["checkpoint_id"]): each["sends"] for each in found}
    for row in rows:
        written = sends.get((row["checkpoint_ns"], row["parent_checkpoint_id"]))
        if row["thread_id"] != asked.params[0] or row["checkpoint"]["v"] >= _SENDS_IN_VALUES or not written:
            continue
        kind, blob = saver.serde.dumps_typed([saver.serde.loads_typed((t.decode(), b)) for t, b in written])
        row["channel_values"] = [*(row["channel_values"] or ()), (TASKS.encode(), kind.encode(), blob)]
        versions = row["checkpoint"]["channel_versions"]
        versions[TASKS] = max(versions.values()) if versions else saver.get_next_version(None, None)


def loaded(serde: SerializerProtocol, row: Mapping[str, Any]) -> CheckpointTuple:
    """Return the checkpoint of a row, with the writes at it in the order in which LangGraph applies them."""
    thread_id, ns = row["thread_id"], row["checkpoint_ns"]
    checkpoint, parent = row["checkpoint"], row["parent_checkpoint_id"]
    values = {
        channel.decode(): serde.loads_typed((kind.decode(), blob))
        for channel, kind, blob in row["channel_values"] or ()
        if kind != b"empty"
    }
    return CheckpointTuple(
        bare(thread_id, ns, row["checkpoint_id"]),
        {**checkpoint, "channel_values": {**(checkpoint.get("channel_values") or {}), **values}},  # type: ignore[typeddict-item]  # the rest is there
        row["metadata"],
        bare(thread_id, ns, parent) if parent else None,
        _writes(serde, row["pending_writes"] or ()),
    )


def paths(row: Mapping[str, Any]) -> dict[str, str]:
    """Return where each task that has written at a checkpoint stands in its step, by its id."""
    return {written[0].decode(): written[4].decode() for written in row["pending_writes"] or ()}


def _writes(serde: SerializerProtocol, rows: Sequence[Sequence[bytes]]) -> list[PendingWrite]:
    ordered = sorted(rows, key=lambda row: writes_sort_key(row[4].decode(), row[0].decode(), int(row[5])))
    return [
        (task_id.decode(), channel.decode(), serde.loads_typed((kind.decode(), blob)))
        for task_id, channel, kind, blob, *_ in ordered
    ]

"""Between a `MemoryRecord` and its row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from pgvector import HalfVector, SparseVector
from psycopg.types.json import Jsonb

from discreet.retrieval.lexical import DIMS, Impacts
from discreet.state.records import MemoryRecord, Provenance
from discreet.storage.keys import digest, same_text_key

MAX_COVERED_DIMS = 512
"""Longest vector that the covering index holds whole, beside 180 tokens; the schema checks it."""

RECORD_COLUMNS: LiteralString = """
    m.entry_id, m.type::text AS type, a.app_name, m.created_at, m.valid_from, m.valid_to, m.text, m.request_id, m.thread_id,
    m.position, m.agent_id, m.importance, m.confidence, m.tags, m.conflict_flags, m.loop_flag, m.provenance, m.feedback
"""
"""What `record_from` needs, of `discreet.memory m` and `discreet.app a`."""

_SAME_IN_BOTH = [
    "entry_id",
    "type",
    "created_at",
    "valid_from",
    "valid_to",
    "text",
    "request_id",
    "thread_id",
    "position",
    "agent_id",
    "importance",
    "confidence",
    "tags",
    "conflict_flags",
    "loop_flag",
]
_READ_AS_THEY_ARE = [*_SAME_IN_BOTH, "app_name", "feedback"]

_ANY_RECORD = MemoryRecord(text="-")
_NOTHING_KNOWN = Provenance()

UPSERT: LiteralString = """
INSERT INTO discreet.memory (
    user_key, entry_id, app_key, space_key, type, created_at, valid_from, valid_to,
    embedding, sketch, wide_embedding, lexical, context,
    text, text_key, request_id, thread_id, thread_key, position, agent_id,
    importance, confidence, tags, conflict_flags, loop_flag, provenance, feedback
) VALUES (
    %(user_key)s, %(entry_id)s, %(app_key)s, %(space_key)s, %(type)s, %(created_at)s, %(valid_from)s, %(valid_to)s,
    %(embedding)s, binary_quantize(%(wide_embedding)s::halfvec), %(wide_embedding)s, %(lexical)s, %(context)s,
    %(text)s, %(text_key)s, %(request_id)s, %(thread_id)s, %(thread_key)s, %(position)s, %(agent_id)s,
    %(importance)s, %(confidence)s, %(tags)s, %(conflict_flags)s, %(loop_flag)s, %(provenance)s, %(feedback)s
)
ON CONFLICT (user_key, entry_id) DO UPDATE SET
    app_key = excluded.app_key, space_key = excluded.space_key, type = excluded.type,
    created_at = excluded.created_at, valid_from = excluded.valid_from, valid_to = excluded.valid_to,
    embedding = excluded.embedding, sketch = excluded.sketch, wide_embedding = excluded.wide_embedding,
    lexical = excluded.lexical, context = excluded.context, text = excluded.text, text_key = excluded.text_key,
    request_id = excluded.request_id, thread_id = excluded.thread_id, thread_key = excluded.thread_key,
    position = excluded.position, agent_id = excluded.agent_id, importance = excluded.importance,
    confidence = excluded.confidence, tags = excluded.tags, conflict_flags = excluded.conflict_flags,
    loop_flag = excluded.loop_flag, provenance = excluded.provenance, feedback = excluded.feedback
"""
"""Store one row; a row of the same person and id is replaced, another person's never touched."""


@dataclass(frozen=True, kw_only=True)
class Keys:
    """What a row refers to."""

    user_key: int
    """Of `discreet.person`."""
    app_key: int
    """Of `discreet.app`."""
    space_key: int
    """Of `discreet.embedding_space`."""


def row_of(record: MemoryRecord, keys: Keys, *, vector: list[float], own: Impacts, context: Impacts) -> dict[str, Any]:
    """Return the parameters of `UPSERT`."""
    covered = len(vector) <= MAX_COVERED_DIMS
    return {
        "user_key": keys.user_key,
        "app_key": keys.app_key,
        "space_key": keys.space_key,
        **{name: getattr(record, name) for name in _SAME_IN_BOTH},
        "embedding": HalfVector(vector) if covered else None,
        "wide_embedding": None if covered else HalfVector(vector),
        "lexical": sparse(own),
        "context": sparse(context),
        "text_key": same_text_key(record.text),
        "thread_key": None if record.thread_id is None else digest(record.thread_id),
        "provenance": Jsonb(record.provenance.model_dump(exclude_none=True)),
        "feedback": Jsonb(record.feedback),
    }


def sparse(weights: Impacts) -> SparseVector | None:
    """Return `weights` as the database holds them: NULL, which takes no room, for none."""
    return SparseVector(weights, DIMS) if weights else None


def record_from(row: Mapping[str, Any]) -> MemoryRecord:
    """Return the record of a row with `RECORD_COLUMNS`.

    Not validated again: redaction may have made the text longer than a caller may send. Copied from a record rather
    than made by `model_construct`, which takes twice as long.
    """
    values = {name: row[name] for name in _READ_AS_THEY_ARE}
    values["provenance"] = _NOTHING_KNOWN.model_copy(update=row["provenance"])
    return _ANY_RECORD.model_copy(update=values)


Place = tuple[str, int]
"""A thread and a position in it."""


def place_of(record: MemoryRecord) -> Place | None:
    """Return where in a conversation `record` was said, if that is known."""
    if record.thread_id is None or record.position is None:
        return None
    return record.thread_id, record.position


Identity = tuple[str, str, UUID | int]
"""What makes two records of one person the same."""


def identity_of(record: MemoryRecord) -> Identity | None:
    """Return what `record` is the same as: a turn, its place; a current fact, its type, application and text."""
    if record.type == "turn" and (place := place_of(record)) is not None:
        return "turn", *place
    if record.valid_to is None:
        return record.type, record.app_name, same_text_key(record.text)
    return None

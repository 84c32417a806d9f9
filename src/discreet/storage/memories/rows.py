"""Between a `MemoryRecord` and its row."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final, LiteralString
from uuid import UUID

import numpy as np
from pgvector import HalfVector, SparseVector

from discreet.errors import EncryptionError
from discreet.retrieval.lexical import CONTEXT, DIMS, Impacts
from discreet.state.records import MemoryRecord, Place, Provenance
from discreet.storage.database.keys import app_key_of, digest
from discreet.storage.database.sealed_columns import (
    MEMORY_FEEDBACK,
    MEMORY_PROVENANCE,
    MEMORY_REASONING,
    MEMORY_TEXT,
)
from discreet.storage.database.sealing import FieldSealer, report_unreadable

logger = logging.getLogger(__name__)

Vectors = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
"""One of unit length, or one a row."""

_LISTS: Final[tuple[LiteralString, ...]] = ("tags", "conflict_flags")
_SAME_IN_BOTH: Final[tuple[LiteralString, ...]] = (
    "entry_id",
    *(name for name in MEMORY_TEXT.bound if name not in _LISTS and name != "turns"),
)
_PRIVATE: Final[tuple[LiteralString, ...]] = ("text", "provenance", "feedback", "reasoning")
"""Each in a column of its name, or sealed."""
_READ = ("user_key", *_SAME_IN_BOTH, *_LISTS, "turns", *_PRIVATE, *(f"sealed_{name}" for name in _PRIVATE))
RECORD_NAMES: LiteralString = ", ".join(_READ)
"""Columns that `record_from` needs."""


def _of_memory(names: Iterable[LiteralString]) -> LiteralString:
    return ", ".join("m.type::text AS type" if name == "type" else f"m.{name}" for name in names)


RECORD_COLUMNS: LiteralString = _of_memory(_READ)
"""The same, of `discreet.memory m`."""
TEXT_COLUMNS: LiteralString = _of_memory(("user_key", "entry_id", "text", "sealed_text", *MEMORY_TEXT.bound))
"""Those that `text_of` needs."""

_NOTHING_KNOWN = Provenance()
_NO_KEYS = FieldSealer(None)
_BLANK: Final[Mapping[str, Any]] = {**dict.fromkeys((*_PRIVATE, *(f"sealed_{name}" for name in _PRIVATE))), "text": ""}


def row_of(
    record: MemoryRecord,
    user_key: UUID,
    *,
    space_key: int,
    vector: Vectors,
    words: Impacts,
    sealer: FieldSealer,
) -> dict[str, Any]:
    """Return the row, by column."""
    return {
        "user_key": user_key,
        "app_key": app_key_of(record.app_name),
        "space_key": space_key,
        **_clear_columns(record),
        **private_columns(record, user_key, sealer),
        "embedding": HalfVector(vector),
        "lexical": sparse(words),
        "thread_key": None if record.thread_id is None else digest(record.thread_id),
    }


def _clear_columns(record: MemoryRecord) -> dict[str, Any]:
    """Return the columns that are in the clear."""
    return {
        **{name: getattr(record, name) for name in _SAME_IN_BOTH},
        **{name: getattr(record, name) or None for name in _LISTS},
        "turns": record.provenance.turns or None,
    }


def private_columns(record: MemoryRecord, user_key: UUID, sealer: FieldSealer) -> dict[str, Any]:
    """Return the columns that hold what a person said, sealed where there is a key."""
    reasoning, sealed_reasoning = None, None
    if record.reasoning is not None:
        reasoning, sealed_reasoning = sealer.split(record.reasoning, MEMORY_REASONING, user_key, record.entry_id)
    known = record.provenance.model_dump(exclude_none=True, exclude={"turns"})
    provenance, sealed_provenance = sealer.split_json(known, MEMORY_PROVENANCE, user_key, record.entry_id)
    return {
        **_text_columns(record, user_key, sealer),
        "reasoning": reasoning,
        "sealed_reasoning": sealed_reasoning,
        "provenance": provenance,
        "sealed_provenance": sealed_provenance,
        **feedback_columns(record, user_key, sealer),
    }


def changed_columns(record: MemoryRecord, user_key: UUID, sealer: FieldSealer) -> dict[str, Any]:
    """Return the columns of a stored record that may change, with the text, which is bound to them."""
    return {
        **_clear_columns(record),
        **_text_columns(record, user_key, sealer),
        **feedback_columns(record, user_key, sealer),
    }


def _text_columns(record: MemoryRecord, user_key: UUID, sealer: FieldSealer) -> dict[str, Any]:
    place = MEMORY_TEXT.at((user_key, record.entry_id), _clear_columns(record)) if sealer.seals else ()
    text, sealed = sealer.split(record.text, MEMORY_TEXT, *place)
    return {"text": text, "sealed_text": sealed}


def feedback_columns(record: MemoryRecord, user_key: UUID, sealer: FieldSealer) -> dict[str, Any]:
    """Return the columns that hold the feedback, sealed where there is a key."""
    feedback, sealed = sealer.split_json(record.feedback, MEMORY_FEEDBACK, user_key, record.entry_id)
    return {"feedback": feedback, "sealed_feedback": sealed}


def text_of(row: Mapping[str, Any], sealer: FieldSealer) -> str:
    """Return the text of a row with `TEXT_COLUMNS`.

    Raises:
        EncryptionError: It can't be opened, see `FieldSealer.join`.
    """
    place = MEMORY_TEXT.at((row["user_key"], row["entry_id"]), row) if sealer.seals else ()
    return sealer.join(row["text"], row["sealed_text"], MEMORY_TEXT, *place)


def sparse(weights: Impacts) -> SparseVector | None:
    """Return `weights` as the database holds them: NULL, which takes no room, for none."""
    return SparseVector(weights, DIMS) if weights else None


def record_from(row: Mapping[str, Any], sealer: FieldSealer) -> MemoryRecord:
    """Return the record of a row with `RECORD_COLUMNS`.

    Not validated again: redaction may have made the text longer than a caller may send.

    Raises:
        EncryptionError: It can't be opened, see `FieldSealer.join`.
    """
    values = {name: row[name] for name in _SAME_IN_BOTH}
    values |= {name: row[name] or [] for name in _LISTS}
    values["text"] = text_of(row, sealer)
    key = row["user_key"], row["entry_id"]
    values["reasoning"] = sealer.join_optional(row["reasoning"], row["sealed_reasoning"], MEMORY_REASONING, *key)
    values["feedback"] = sealer.join_json(row["feedback"], row["sealed_feedback"], MEMORY_FEEDBACK, *key) or []
    known = sealer.join_json(row["provenance"], row["sealed_provenance"], MEMORY_PROVENANCE, *key) or {}
    if row["turns"]:
        known["turns"] = row["turns"]
    values["provenance"] = _NOTHING_KNOWN.model_copy(update=known) if known else _NOTHING_KNOWN
    return MemoryRecord.trusted(values)


def readable(rows: Iterable[Mapping[str, Any]], sealer: FieldSealer) -> list[MemoryRecord]:
    """Return the records of rows with `RECORD_COLUMNS`, but for those that can't be opened.

    These are counted, and named by their ids in one line of the log: a lost key costs the rows under it and no others.
    """
    records, unreadable = [], []
    for row in rows:
        try:
            records.append(record_from(row, sealer))
        except EncryptionError:
            unreadable.append(row["entry_id"])
    report_unreadable("memory", unreadable)
    return records


def opened_or_blank(rows: Iterable[Mapping[str, Any]], sealer: FieldSealer) -> list[MemoryRecord]:
    """Return the records of rows, without texts where they can't be opened: they can be replaced and deleted all the same."""
    rows = list(rows)
    opened = {record.entry_id: record for record in readable(rows, sealer)}
    return [opened.get(row["entry_id"]) or record_from({**row, **_BLANK}, _NO_KEYS) for row in rows]


def tokens_of(row: Mapping[str, Any]) -> list[int]:
    """Return the own tokens of a row with `lexical`."""
    lexical: SparseVector | None = row["lexical"]
    return [] if lexical is None else [token for token in lexical.indices() if token < CONTEXT]


def places_of(rows: Iterable[Mapping[str, Any]]) -> set[Place]:
    """Return where in conversations rows with thread_id and position were said, of those where that is known."""
    return {(row["thread_id"], row["position"]) for row in rows if None not in (row["thread_id"], row["position"])}

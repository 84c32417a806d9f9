"""Decide, before anything is written, which stored record each new one becomes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from discreet.state.records import MemoryRecord
from discreet.storage.memory_rows import Identity, identity_of


def settle(records: Sequence[MemoryRecord], stored: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """Return `records` as they are to be stored, in their order.

    `stored` are the person's records that may meet them. Several results may share an entry_id; the last of them holds.

    * A turn takes the place of the stored turn with its thread and position, and that one's id.
    * A record with a known id replaces that record.
    * A fact whose text is stored already (same type and application, up to case and spaces) refreshes it.
    """
    shelf = _Shelf(stored)
    settled = []
    for record in records:
        result = _settle_one(record, own=shelf.by_id.get(record.entry_id), twin=shelf.twin_of(record))
        shelf.put(result)
        settled.append(result)
    return settled


def _settle_one(record: MemoryRecord, *, own: MemoryRecord | None, twin: MemoryRecord | None) -> MemoryRecord:
    if twin is not None and record.type == "turn":
        return record.model_copy(update={"entry_id": twin.entry_id})
    if twin is not None and own is None:
        return _refreshed(twin, record)
    return record


def _refreshed(stored: MemoryRecord, said_again: MemoryRecord) -> MemoryRecord:
    """Return the stored fact as of when it was said again; no importance, label or feedback is lost."""
    return said_again.model_copy(
        update={
            "entry_id": stored.entry_id,
            "created_at": max(stored.created_at, said_again.created_at),
            "valid_from": stored.valid_from or stored.created_at,
            "importance": max(stored.importance, said_again.importance),
            "confidence": max(stored.confidence, said_again.confidence),
            "tags": list(dict.fromkeys([*stored.tags, *said_again.tags])),
            "conflict_flags": list(dict.fromkeys([*stored.conflict_flags, *said_again.conflict_flags])),
            "feedback": [*stored.feedback, *said_again.feedback],
        }
    )


class _Shelf:
    """The records that a new one may meet."""

    def __init__(self, stored: Iterable[MemoryRecord]) -> None:
        self.by_id: dict[UUID, MemoryRecord] = {}
        self._ids: dict[Identity, UUID] = {}
        for record in stored:
            self.put(record)

    def put(self, record: MemoryRecord) -> None:
        """Add `record` in place of one with its id."""
        self.by_id[record.entry_id] = record
        identity = identity_of(record)
        if identity is not None:
            self._ids[identity] = record.entry_id

    def twin_of(self, record: MemoryRecord) -> MemoryRecord | None:
        """Return the record that is the same as `record`, if there is one and it still says so."""
        identity = identity_of(record)
        if identity is None or (entry_id := self._ids.get(identity)) is None:
            return None
        twin = self.by_id[entry_id]
        return twin if identity_of(twin) == identity else None

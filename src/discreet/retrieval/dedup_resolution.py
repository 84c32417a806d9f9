"""Decide, before anything is written, what becomes of new records and of the stored ones that they meet. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from discreet.retrieval.dedup import DedupThresholds, Verdict, judge
from discreet.state.records import MAX_FEEDBACK, MAX_LABELS, MemoryRecord, MemoryType, Place

CONSOLIDATED: Final[frozenset[MemoryType]] = frozenset(
    {"user_fact", "preference", "event", "conversation_insight", "important_moment"}
)
"""Types whose records are compared with what is known. A turn, a summary or a reasoning says what was, whatever was said
like it before."""


@dataclass(frozen=True, kw_only=True)
class Nearness:
    """How near new records are to others, on the common scale of similarity."""

    stored: Mapping[int, Mapping[UUID, float]] = field(default_factory=dict)
    """By position of the new record: current facts of the same person and application."""
    batch: Mapping[int, Mapping[int, float]] = field(default_factory=dict)
    """By position of the new record: other new records, by theirs."""


@dataclass(kw_only=True)
class Settled:
    """What a save is to write."""

    results: list[UUID] = field(default_factory=list)
    """The entry that each record given became, in their order."""
    written: dict[UUID, int] = field(default_factory=dict)
    """Entries to be written whole, with the position of the record whose text and vector they have."""
    changed: set[UUID] = field(default_factory=set)
    """Stored entries whose text and vector stay, said again or superseded."""
    said_again: set[UUID] = field(default_factory=set)
    """Entries that nothing said before can contradict any more."""
    conflicts: set[tuple[UUID, UUID]] = field(default_factory=set)
    """Pairs that may not both hold: the older entry, the newer one."""
    records: dict[UUID, MemoryRecord] = field(default_factory=dict)
    """Every entry met, as it is from now on."""


def settle(
    records: Sequence[MemoryRecord],
    met: Iterable[MemoryRecord],
    *,
    nearness: Nearness,
    thresholds: DedupThresholds,
) -> Settled:
    """Return what becomes of `records`. `met` are the person's stored records that may be concerned.

    * A turn takes the place of the stored turn with its thread and position, and that one's id.
    * A record with a known id replaces that record.
    * A fact that is known already refreshes it: its time, the greater importance, all labels.
    * A fact that is a new state of what is known supersedes it: the old one holds until the new one was said. Whichever
      was said later wins, in whatever order they come.
    * One that may contradict what is known is kept beside it, and flagged.
    """
    settled = Settled()
    for _ in settling(settled, records, met, nearness=nearness, thresholds=thresholds):
        pass
    return settled


def settling(
    settled: Settled,
    records: Sequence[MemoryRecord],
    met: Iterable[MemoryRecord],
    *,
    nearness: Nearness,
    thresholds: DedupThresholds,
) -> Iterator[None]:
    """Do what `settle` does, into `settled`, which is empty; stop after each record, as others may have to go on meanwhile."""
    shelf = _Shelf(settled, met, nearness, thresholds)
    for position, record in enumerate(records):
        settled.results.append(shelf.place(position, record))
        yield


class _Shelf:
    """The records as they become, one new record after the other."""

    def __init__(
        self, settled: Settled, met: Iterable[MemoryRecord], nearness: Nearness, thresholds: DedupThresholds
    ) -> None:
        self.settled = settled
        self._records = self.settled.records
        self._turns: dict[Place, UUID] = {}
        self._nearness = nearness
        self._thresholds = thresholds
        for record in met:
            self._put(record)

    def place(self, position: int, record: MemoryRecord) -> UUID:
        """Settle one record and return the entry that it becomes."""
        place = record.place
        if record.type == "turn" and place in self._turns:
            record = record.model_copy(update={"entry_id": self._turns[place]})
        elif record.entry_id not in self._records and is_compared(record):
            return self._consolidate(position, record)
        self._write(position, record)
        return record.entry_id

    def _consolidate(self, position: int, record: MemoryRecord) -> UUID:
        known = [(old, verdict) for old, verdict in self._judged(position, record) if verdict != "new"]
        twin = next((old for old, verdict in known if verdict == "same" and old.type == record.type), None)
        if twin is None:
            self._write(position, record)
        else:
            record = _refreshed(twin, record)
            self.settled.said_again.add(record.entry_id)
            self._change(record)
        for old, verdict in known:
            if verdict != "same" and old.entry_id != record.entry_id:
                self._confront(record.entry_id, old.entry_id, verdict)
        return record.entry_id

    def _judged(self, position: int, record: MemoryRecord) -> list[tuple[MemoryRecord, Verdict]]:
        """Return the current facts near to `record`, nearest first, each with what `record` is to it."""
        near = dict(self._nearness.stored.get(position, {}))
        for earlier, similarity in self._nearness.batch.get(position, {}).items():
            if earlier < position:
                near[self.settled.results[earlier]] = similarity
        judged = []
        for entry_id, similarity in sorted(near.items(), key=lambda item: -item[1]):
            old = self._records.get(entry_id)
            if old is not None and is_compared(old) and old.app_name == record.app_name:
                judged.append((old, judge(record.text, old.text, similarity, self._thresholds)))
        return judged

    def _confront(self, one: UUID, other: UUID, verdict: Verdict) -> None:
        """Make the earlier of two entries end where the later begins, or flag the later if that is not certain."""
        older, newer = sorted((self._records[other], self._records[one]), key=lambda record: record.created_at)
        if verdict == "update" and older.type == newer.type != "important_moment":
            self._change(older.model_copy(update={"valid_to": newer.created_at}))
            self._change(newer.model_copy(update={"importance": max(newer.importance, older.importance)}))
            return
        self.settled.conflicts.add((older.entry_id, newer.entry_id))
        flags = dict.fromkeys([*newer.conflict_flags, str(older.entry_id)])
        self._change(newer.model_copy(update={"conflict_flags": list(flags)[-MAX_LABELS:]}))

    def _write(self, position: int, record: MemoryRecord) -> None:
        self.settled.written[record.entry_id] = position
        self._put(record)

    def _change(self, record: MemoryRecord) -> None:
        if record.entry_id not in self.settled.written:
            self.settled.changed.add(record.entry_id)
        self._put(record)

    def _put(self, record: MemoryRecord) -> None:
        self._records[record.entry_id] = record
        if record.type == "turn" and (place := record.place) is not None:
            self._turns[place] = record.entry_id


def is_compared(record: MemoryRecord) -> bool:
    """Whether `record` is a fact that holds: one that ended by its writer's own word is history."""
    return record.type in CONSOLIDATED and record.valid_to is None


def _refreshed(stored: MemoryRecord, said_again: MemoryRecord) -> MemoryRecord:
    """Return the stored fact as of when it was said again; no importance, label or feedback is lost."""
    return stored.model_copy(
        update={
            "created_at": max(stored.created_at, said_again.created_at),
            "valid_from": _earliest(stored.valid_from or stored.created_at, said_again.valid_from),
            "importance": max(stored.importance, said_again.importance),
            "confidence": max(stored.confidence, said_again.confidence),
            "tags": _merged(stored.tags, said_again.tags),
            "conflict_flags": _merged(stored.conflict_flags, said_again.conflict_flags),
            "feedback": [*stored.feedback, *said_again.feedback][-MAX_FEEDBACK:],
        }
    )


def _earliest(one: datetime, other: datetime | None) -> datetime:
    return one if other is None else min(one, other)


def _merged(stored: Sequence[str], new: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*stored, *new]))[-MAX_LABELS:]

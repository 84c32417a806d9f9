"""Which rows the newest checkpoints of the threads in use have, so that a put need not ask."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from sys import getsizeof
from threading import Lock
from typing import NamedTuple

from discreet import metrics
from discreet.checkpoint.checkpoint_ref import CheckpointRef
from discreet.checkpoint.postgres.message_rows import Rows

MAX_BYTES = 100 * 2**20
"""Of all threads of a saver."""
MESSAGE_BYTES = 1_000
"""What a message takes beside its text: measured, 944."""
ENTRY_BYTES = 1_000
"""What an entry takes beside its messages."""


class _Entry(NamedTuple):
    checkpoint_id: str
    rows: Mapping[str, Rows]
    bytes: int


class RowCache:
    """The rows of one checkpoint each of the namespaces that were used last, by thread."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        """Hold at most `max_bytes`, counted in the metric `discreet_row_cache_bytes`."""
        self._max = max_bytes
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, thread_id: str, place: CheckpointRef) -> Mapping[str, Rows] | None:
        """Return the rows of the checkpoint at `place` by channel, if they are known."""
        with self._lock:
            entry = self._entries.get((thread_id, place.ns))
            if entry is None or entry.checkpoint_id != place.checkpoint_id:
                return None
            self._entries.move_to_end((thread_id, place.ns))
            return entry.rows

    def put(self, thread_id: str, place: CheckpointRef, rows: Mapping[str, Rows]) -> None:
        """Remember `rows`, in the place of another checkpoint of the namespace."""
        with self._lock:
            self._drop((thread_id, place.ns))
            entry = self._entries[thread_id, place.ns] = _Entry(place.checkpoint_id, rows, _size(rows))
            self._add(entry.bytes)
            while self._bytes > self._max:
                self._drop(next(iter(self._entries)))

    def note(self, thread_id: str, place: CheckpointRef, rows: Mapping[str, Rows]) -> None:
        """Remember what a read found, unless a newer checkpoint is known: reading history does not drive that out."""
        with self._lock:
            entry = self._entries.get((thread_id, place.ns))
        if entry is None or entry.checkpoint_id <= place.checkpoint_id:
            self.put(thread_id, place, rows)

    def forget(self, thread_ids: Collection[str]) -> None:
        """Drop these threads."""
        gone = set(thread_ids)
        with self._lock:
            for key in [key for key in self._entries if key[0] in gone]:
                self._drop(key)

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._entries.clear()
            self._add(-self._bytes)

    def _drop(self, key: tuple[str, str]) -> None:
        if (entry := self._entries.pop(key, None)) is not None:
            self._add(-entry.bytes)

    def _add(self, size: int) -> None:
        self._bytes += size
        metrics.row_cache_bytes.inc(size)


def _size(rows: Mapping[str, Rows]) -> int:
    messages = sum(MESSAGE_BYTES + getsizeof(text) for item in rows.values() for text in item.messages.texts)
    return ENTRY_BYTES + messages

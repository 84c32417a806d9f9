"""Which rows the newest checkpoints of the threads in use have, so that a put need not ask."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from threading import Lock

from discreet.checkpoint.checkpoint_ref import CheckpointRef
from discreet.checkpoint.postgres.message_rows import Rows

MAX_MESSAGES = 50_000
"""About 100 MB, if their texts have 400 characters."""


class RowCache:
    """The rows of one checkpoint each of the namespaces that were used last, by thread."""

    def __init__(self, max_messages: int = MAX_MESSAGES) -> None:
        """Hold at most `max_messages`; an entry without any counts as one."""
        self._max = max_messages
        self._entries: OrderedDict[tuple[str, str], tuple[str, Mapping[str, Rows]]] = OrderedDict()
        self._count = 0
        self._lock = Lock()

    def get(self, thread_id: str, place: CheckpointRef) -> Mapping[str, Rows] | None:
        """Return the rows of the checkpoint at `place` by channel, if they are known."""
        with self._lock:
            entry = self._entries.get((thread_id, place.ns))
            if entry is None or entry[0] != place.checkpoint_id:
                return None
            self._entries.move_to_end((thread_id, place.ns))
            return entry[1]

    def put(self, thread_id: str, place: CheckpointRef, rows: Mapping[str, Rows]) -> None:
        """Remember `rows`, in the place of another checkpoint of the namespace."""
        with self._lock:
            self._drop((thread_id, place.ns))
            self._entries[thread_id, place.ns] = (place.checkpoint_id, rows)
            self._count += _weight(rows)
            while self._count > self._max:
                self._drop(next(iter(self._entries)))

    def note(self, thread_id: str, place: CheckpointRef, rows: Mapping[str, Rows]) -> None:
        """Remember what a read found, unless a newer checkpoint is known: reading history does not drive that out."""
        with self._lock:
            entry = self._entries.get((thread_id, place.ns))
        if entry is None or entry[0] <= place.checkpoint_id:
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
            self._count = 0

    def _drop(self, key: tuple[str, str]) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._count -= _weight(entry[1])


def _weight(rows: Mapping[str, Rows]) -> int:
    return sum(len(item.messages) for item in rows.values()) or 1

"""The scratch tier: the open turns of one saver, whole, in RAM only."""

from __future__ import annotations

import copy
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    writes_sort_key,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from discreet.checkpoint.places import Place, bare, locate


class TaskWrites(NamedTuple):
    """One call of `put_writes`."""

    config: RunnableConfig
    writes: Sequence[tuple[str, Any]]
    task_id: str
    task_path: str


@dataclass(frozen=True, kw_only=True)
class ScratchLimits:
    """Bounds of the scratch tier. A turn that falls out of it runs again from its last stored checkpoint."""

    ttl_seconds: float = 3600.0
    """How long a turn may stay untouched: the time a person may take to answer an interrupt."""
    max_threads: int = 10_000
    """Threads remembered at most; a closed turn leaves about 1 kB."""
    max_bytes: int = 256 * 2**20
    """Serialized size of all open turns. The thread in use is never evicted, even if it alone is larger."""


@dataclass
class ThreadScratch:
    """One thread: its open turn, and what is known to be stored of it."""

    thread_id: str
    turn: InMemorySaver = field(default_factory=InMemorySaver)
    """Checkpoints and writes of the open turn, as LangGraph gave them."""
    anchors: dict[Place, str | None] = field(default_factory=dict)
    """The nearest checkpoint of the durable tier: itself, an ancestor, or None."""
    stored: dict[Place, ChannelVersions] = field(default_factory=dict)
    """Of a checkpoint in the durable tier: which channels have a value there, and their version."""
    overtaken: dict[Place, list[TaskWrites]] = field(default_factory=dict)
    """Filtered writes whose checkpoint is not stored yet."""
    paused: set[Place] = field(default_factory=set)
    """Places where a task asked a question before the checkpoint came."""
    started: set[Place] = field(default_factory=set)
    """Stored checkpoints of a turn that another process began, and this one takes over."""
    closed: dict[str, str] = field(default_factory=dict)
    """The checkpoint that closed the last turn, by namespace."""
    touched: float = math.inf
    """When it was last changed; infinite while it is being changed for the first time."""
    bytes: int = 0
    """Its size when it was last changed."""

    def saver(self, serde: SerializerProtocol) -> InMemorySaver:
        """Return the open turn, read and written through `serde`."""
        view = copy.copy(self.turn)
        view.serde = serde
        return view

    def holds(self, place: Place) -> bool:
        """Return whether the open turn has this checkpoint."""
        return place.checkpoint_id in self.turn.storage.get(self.thread_id, {}).get(place.ns, {})

    def head(self, ns: str) -> str | None:
        """Return the newest checkpoint of the open turn in `ns`."""
        return max(self.turn.storage.get(self.thread_id, {}).get(ns, {}), default=None)

    def get(self, place: Place, serde: SerializerProtocol) -> CheckpointTuple | None:
        """Return a checkpoint of the open turn."""
        return self.saver(serde).get_tuple(bare(self.thread_id, *place)) if self.holds(place) else None

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, serde: SerializerProtocol
    ) -> None:
        """Keep `checkpoint`. Which versions are new is relative to the open turn, not to LangGraph's last put."""
        where = {"checkpoint_ns": "", **config["configurable"], "thread_id": self.thread_id}
        new_versions = {
            channel: version
            for channel, version in checkpoint["channel_versions"].items()
            if (self.thread_id, where["checkpoint_ns"], channel, version) not in self.turn.blobs
        }
        whole: RunnableConfig = {**config, "configurable": where}
        self.saver(serde).put(whole, checkpoint, metadata, new_versions)

    def put_writes(
        self,
        place: Place,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
        serde: SerializerProtocol,
    ) -> None:
        """Keep a task's writes."""
        self.saver(serde).put_writes(bare(self.thread_id, *place), writes, task_id, task_path)

    def writes(self, place: Place, serde: SerializerProtocol) -> list[PendingWrite]:
        """Return the writes at `place`, in the order that LangGraph applies them."""
        rows = self.turn.writes.get((self.thread_id, *place), {})
        ordered = [rows[key] for key in sorted(rows, key=lambda key: writes_sort_key(rows[key][3], *key))]
        return [(task_id, channel, serde.loads_typed(value)) for task_id, channel, value, _ in ordered]

    def note_stored(self, place: Place, versions: ChannelVersions) -> None:
        """Note that the durable tier has `place`, with a value for the channels of `versions`."""
        self.anchors[place] = place.checkpoint_id
        self.stored[place] = versions

    def close(self, place: Place) -> None:
        """Drop the turn that ends with `place`: all of it with the root's, else the one of that namespace."""
        if place.ns == "":
            self.turn = InMemorySaver()
            self.anchors.clear()
            self.stored.clear()
            self.overtaken.clear()
            self.paused.clear()
            self.started.clear()
        else:
            self.turn.storage[self.thread_id].pop(place.ns, None)
            for written in [key for key in self.turn.writes if key[1] == place.ns]:
                del self.turn.writes[written]
            for blob in [key for key in self.turn.blobs if key[1] == place.ns]:
                del self.turn.blobs[blob]
        self.closed[place.ns] = place.checkpoint_id

    def size(self) -> int:
        """Return the serialized size of the open turn in bytes."""
        turn = self.turn
        rows = (row for spaces in turn.storage.values() for space in spaces.values() for row in space.values())
        return (
            sum(len(blob) for _, blob in turn.blobs.values())
            + sum(len(checkpoint[1]) + len(metadata[1]) for checkpoint, metadata, _ in rows)
            + sum(len(value[1]) for writes in turn.writes.values() for _, _, value, _ in writes.values())
        )

    def copied(self, target: str) -> ThreadScratch:
        """Return the same turn as another thread's."""
        turn = InMemorySaver()
        for ns, checkpoints in self.turn.storage.get(self.thread_id, {}).items():
            turn.storage[target][ns] = dict(checkpoints)
        turn.writes.update({(target, *key[1:]): dict(writes) for key, writes in self.turn.writes.items()})
        turn.blobs.update({(target, *key[1:]): blob for key, blob in self.turn.blobs.items()})
        return ThreadScratch(target, turn, dict(self.anchors), dict(self.stored), closed=dict(self.closed))

    def forget_runs(self, run_ids: set[str], serde: SerializerProtocol) -> None:
        """Drop the checkpoints that these runs made, and their writes."""
        made = list(self.saver(serde).list(bare(self.thread_id, None, None)))
        self._remove(locate(item.config)[1] for item in made if item.metadata.get("run_id") in run_ids)

    def keep_heads(self) -> None:
        """Drop all checkpoints but the newest of each namespace."""
        spaces = self.turn.storage.get(self.thread_id, {})
        self._remove(Place(ns, old) for ns, checkpoints in spaces.items() for old in sorted(checkpoints)[:-1])

    def _remove(self, places: Iterable[Place]) -> None:
        for place in places:
            del self.turn.storage[self.thread_id][place.ns][place.checkpoint_id]
            self.turn.writes.pop((self.thread_id, *place), None)
        # What was known to be stored may be gone from the durable tier too: it is looked up again.
        self.anchors.clear()
        self.stored.clear()


class Scratch:
    """All open turns of one saver, bounded by time, number and size; the least recently used thread goes first.

    One lock guards it. It is never held across I/O, and what runs under it is pure Python that holds the interpreter
    anyway, so it costs threads nothing.
    """

    def __init__(self, limits: ScratchLimits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits or ScratchLimits()
        self._clock = clock
        self._threads: OrderedDict[str, ThreadScratch] = OrderedDict()
        self._bytes = 0
        self._lock = threading.RLock()

    @contextmanager
    def thread(self, thread_id: str) -> Iterator[ThreadScratch]:
        """Hold the thread's scratch, made if there is none, to change it."""
        with self._lock:
            self._expire()
            thread = self._threads.setdefault(thread_id, ThreadScratch(thread_id))
            self._threads.move_to_end(thread_id)
            try:
                yield thread
            finally:
                thread.touched = self._clock()
                size, thread.bytes = thread.bytes, thread.size()
                self._bytes += thread.bytes - size
                self._evict()

    @contextmanager
    def reading(self, thread_id: str) -> Iterator[ThreadScratch | None]:
        """Hold the thread's scratch to read it; None if there is none. Reading doesn't prolong its life."""
        with self._lock:
            self._expire()
            yield self._threads.get(thread_id)

    def thread_ids(self) -> list[str]:
        """Return the threads that there is something of."""
        with self._lock:
            self._expire()
            return list(self._threads)

    def drop(self, thread_id: str) -> None:
        """Forget a thread."""
        with self._lock:
            if thread := self._threads.pop(thread_id, None):
                self._bytes -= thread.bytes

    def copy(self, source: str, target: str) -> None:
        """Make `target` a thread with the open turn of `source`."""
        with self.reading(source) as thread:
            copied = thread.copied(target) if thread else None
        if copied is not None:
            with self._lock:
                self.drop(target)
                self._threads[target] = copied
                with self.thread(target):
                    pass  # takes its time and size

    def _expire(self) -> None:
        deadline = self._clock() - self._limits.ttl_seconds
        while self._threads and next(iter(self._threads.values())).touched <= deadline:
            self.drop(next(iter(self._threads)))

    def _evict(self) -> None:
        while len(self._threads) > 1 and (
            len(self._threads) > self._limits.max_threads or self._bytes > self._limits.max_bytes
        ):
            self.drop(next(iter(self._threads)))

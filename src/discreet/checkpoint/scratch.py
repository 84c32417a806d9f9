"""The scratch tier: the open turns of one saver, whole, in RAM only."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from discreet.checkpoint.thread_scratch import ThreadScratch
from discreet.errors import ConfigurationError
from discreet.settings import load_settings


@dataclass(frozen=True, kw_only=True)
class ScratchLimits:
    """Bounds of the scratch tier. A turn that falls out of it runs again from its last stored checkpoint."""

    ttl_seconds: float = field(default_factory=lambda: load_settings().pause_seconds)
    """How long a turn may stay untouched: the time a person may take to answer an interrupt. Default: DISCREET_PAUSE_SECONDS."""
    keep_closed: int = field(default_factory=lambda: load_settings().keep_closed)
    """How many turns of a thread stay whole when they are over, to look at and to fork. Default: DISCREET_KEEP_CLOSED."""
    max_threads: int = 10_000
    """Threads remembered at most; a closed turn leaves 2.6 kB (measured after a turn of one message and one answer)."""
    max_bytes: int = 256 * 2**20
    """Serialized size of all turns here. The thread in use is never evicted, even if it alone is larger."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("ttl_seconds", "keep_closed", "max_threads", "max_bytes"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                raise ConfigurationError(f"ScratchLimits({name}=…) is a number, 0 or more.")
        if not self.ttl_seconds:
            raise ConfigurationError("A pause lasts some seconds: pause_seconds and ttl_seconds are above 0.")


def limits_of(limits: ScratchLimits | None, pause_seconds: float | None, history_ttl: float | None) -> ScratchLimits:
    """Return `limits` with a saver's own arguments; a turn that goes to the history is kept until it is there."""
    limits = limits or ScratchLimits()
    if not isinstance(limits, ScratchLimits):
        raise ConfigurationError("scratch= is a Scratch, or ScratchLimits(…).")
    if pause_seconds is not None:
        limits = replace(limits, ttl_seconds=pause_seconds)
    return replace(limits, keep_closed=1) if history_ttl and not limits.keep_closed else limits


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

    @property
    def keep_closed(self) -> int:
        """How many turns of a thread stay when they are over."""
        return self._limits.keep_closed

    @property
    def pause_seconds(self) -> float:
        """How long a person may take to answer."""
        return self._limits.ttl_seconds

    @contextmanager
    def thread(self, thread_id: str) -> Iterator[ThreadScratch]:
        """Hold the thread's scratch, made if there is none, to change it."""
        with self._lock:
            self._expire()
            if (thread := self._threads.get(thread_id)) is None:
                thread = self._threads[thread_id] = ThreadScratch(thread_id)
            self._threads.move_to_end(thread_id)
            try:
                yield thread
            finally:
                thread.touched = self._clock()
                size, thread.bytes = thread.bytes, thread.size()
                self._bytes += thread.bytes - size
                thread.shed()
                self._evict()

    @contextmanager
    def reading(self, thread_id: str) -> Iterator[ThreadScratch | None]:
        """Hold the thread's scratch to read it; None if there is none. Reading doesn't prolong its life."""
        with self._lock:
            self._expire()
            thread = self._threads.get(thread_id)
            try:
                yield thread
            finally:
                if thread is not None:
                    thread.shed()

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
            self.replace(copied)

    def replace(self, thread: ThreadScratch) -> None:
        """Hold `thread` instead of what there was of it."""
        with self._lock:
            self.drop(thread.thread_id)
            self._threads[thread.thread_id] = thread
            with self.thread(thread.thread_id):
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

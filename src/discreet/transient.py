"""What a thread may keep for minutes, in this process's memory only: tool results, search results, features.

An entry has a time to live, is invisible once that is over, and can't be pickled, so that no checkpointer, cache or task
queue takes it to a disk.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NoReturn

from discreet.erased import Erased, on_erasure
from discreet.errors import LeakBlockedError, TransientEntryError

TOOL = "tool.temp."
RETRIEVAL = "retrieval.cache."
FEATURES = "features."

DEFAULT_SECONDS: Mapping[str, float] = {TOOL: 900.0, RETRIEVAL: 600.0, FEATURES: 900.0}
"""The namespaces, each with the time to live of entries that name none."""

MIN_SECONDS, MAX_SECONDS = 600.0, 1_800.0
"""What is needed for longer is no cache, and belongs where retention and erasure reach it."""

SWEEP_SECONDS = 60.0
"""What expired is freed so often, at the next `set`: with 10,000 entries that takes 2 ms."""


class TransientState:
    """Entries by thread and key, with a time to live. Thread-safe; nothing is ever written anywhere.

    Keys begin with `tool.temp.`, `retrieval.cache.` or `features.`. Where there are too many entries the oldest go first.

    Example:
        >>> state = TransientState()
        >>> state.set("thread-1", "tool.temp.weather", {"Hanoi": 31})
        >>> state.get("thread-1", "tool.temp.weather")
        {'Hanoi': 31}
        >>> state.get("thread-2", "tool.temp.weather", "unknown")
        'unknown'
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, max_entries: int = 10_000) -> None:
        """Hold at most `max_entries` of all threads together; `clock` gives seconds and never goes back."""
        self._clock = clock
        self._max_entries = max_entries
        self._entries: OrderedDict[tuple[str, str], tuple[Any, float]] = OrderedDict()
        self._sweep_at = clock() + SWEEP_SECONDS
        self._lock = threading.RLock()  # a value that goes may have a finaliser that comes back here
        on_erasure(self._forget_erased)

    def set(self, thread_id: str, key: str, value: object, ttl: float | None = None, *, any_ttl: bool = False) -> None:
        """Keep `value` itself, no copy, for `ttl` seconds.

        Raises:
            TransientEntryError: The key is in no namespace, or `ttl` is not within 10 to 30 minutes and not `any_ttl`.
        """
        seconds = _seconds(key, ttl, any_ttl=any_ttl)
        with self._lock:
            now = self._clock()
            if now >= self._sweep_at:
                self._sweep_at = now + SWEEP_SECONDS
                self._drop(lambda place: self._entries[place][1] <= now)
            self._entries.pop((thread_id, key), None)
            self._entries[thread_id, key] = value, now + seconds
            while len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)

    def get(self, thread_id: str, key: str, default: Any = None) -> Any:
        """Return what was set, `default` if nothing was, or if it expired."""
        with self._lock:
            value, ends = self._entries.get((thread_id, key), (default, math.inf))
            if ends <= self._clock():
                del self._entries[thread_id, key]
                return default
            return value

    def forget(self, thread_id: str) -> None:
        """Free all entries of a thread."""
        with self._lock:
            self._drop(lambda place: place[0] == thread_id)

    def _forget_erased(self, erased: Erased) -> None:
        with self._lock:
            gone = {thread_id for thread_id, _ in self._entries if erased.has_thread(thread_id)}
            self._drop(lambda place: place[0] in gone)

    def _drop(self, goes: Callable[[tuple[str, str]], bool]) -> None:
        for place in [place for place in self._entries if goes(place)]:
            self._entries.pop(place, None)

    def __len__(self) -> int:
        return len(self._entries)

    def __reduce__(self) -> NoReturn:
        raise LeakBlockedError("Transient state lives in this process only: it can't be pickled or copied.")

    __getstate__ = __reduce__


@cache
def default_transient_state() -> TransientState:
    """Return the transient state of this process."""
    return TransientState()


def _seconds(key: str, ttl: float | None, *, any_ttl: bool) -> float:
    """Return how long an entry lives. An error names no key: it may hold what a user said."""
    default = next((DEFAULT_SECONDS[each] for each in DEFAULT_SECONDS if key.startswith(each) and key != each), None)
    if default is None:
        raise TransientEntryError(
            f"A key of transient state begins with {', '.join(DEFAULT_SECONDS)} and has a name of its own after that."
        )
    seconds = default if ttl is None else ttl
    if not (0 < seconds < math.inf if any_ttl else MIN_SECONDS <= seconds <= MAX_SECONDS):
        raise TransientEntryError(
            f"Transient state lives {MIN_SECONDS:.0f} to {MAX_SECONDS:,.0f} seconds; any_ttl=True allows another time."
        )
    return seconds

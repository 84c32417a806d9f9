"""What a thread may keep for minutes, in this process's memory only: tool results, search results, features.

An entry has a time to live, is invisible once that is over, and can't be pickled, so that no checkpointer, cache or task
queue takes it to a disk.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from discreet.errors import LeakBlockedError, TransientEntryError

TOOL = "tool.temp."
RETRIEVAL = "retrieval.cache."
FEATURES = "features."

DEFAULT_SECONDS: Mapping[str, float] = {TOOL: 900.0, RETRIEVAL: 600.0, FEATURES: 900.0}
"""The namespaces, each with the time to live of entries that name none."""

MIN_SECONDS = 1.0
MAX_SECONDS = 1_800.0
"""Half an hour: what is needed for longer is no cache, and belongs where retention and erasure reach it."""

MAX_KEY_CHARS = 1_000

FREED_AT_ONCE = 100
"""Expired entries that one call frees at most, so that no turn pays for all the others."""

OBJECT_CHARS = 100
"""What an object counts that is no text and no container; a Python object with a few fields takes about as much."""


MEASURED_OBJECTS = 100_000
"""Objects of a value that are looked at to measure it."""


class _Entry(NamedTuple):
    value: Any
    expires_at: float
    chars: int
    number: int


class TransientState:
    """Entries by thread and key, with a time to live. Thread-safe; nothing is ever written anywhere.

    Keys begin with `tool.temp.`, `retrieval.cache.` or `features.`. What expired is never returned, and is freed by the
    calls that follow. Where there are too many entries, or too much in them, the oldest go first.

    Example:
        >>> state = TransientState()
        >>> state.set("thread-1", "tool.temp.weather", {"Hanoi": 31})
        True
        >>> state.get("thread-1", "tool.temp.weather")
        {'Hanoi': 31}
        >>> state.get("thread-2", "tool.temp.weather", "unknown")
        'unknown'
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        max_entries: int = 10_000,
        max_chars: int = 50_000_000,
    ) -> None:
        """Hold nothing yet.

        Args:
            clock: Seconds, never going back.
            max_entries: Entries of all threads together.
            max_chars: Characters and bytes in the values of all threads together, about.
        """
        self._clock = clock
        self._max_entries = max_entries
        self._max_chars = max_chars
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()
        self._keys: dict[str, set[str]] = {}
        self._ends: list[tuple[float, int, tuple[str, str]]] = []
        self._numbers = itertools.count()
        self._chars = 0
        self._lock = threading.RLock()  # a value that goes may have a finaliser that comes back here

    def set(self, thread_id: str, key: str, value: object, ttl: float | None = None) -> bool:
        """Keep `value` itself, no copy, for `ttl` seconds; False if it alone is larger than all that may be held.

        Raises:
            TransientEntryError: The key is in no namespace, or `ttl` is not between 1 second and 30 minutes.
        """
        seconds = _seconds(key, ttl)
        chars = _chars(value)
        place = (thread_id, key)
        with self._lock:
            now = self._clock()
            self._free(now)
            self._drop(place)
            if chars > self._max_chars:
                return False
            entry = _Entry(value, now + seconds, chars, next(self._numbers))
            self._entries[place] = entry
            self._keys.setdefault(thread_id, set()).add(key)
            self._chars += chars
            heapq.heappush(self._ends, (entry.expires_at, entry.number, place))
            while len(self._entries) > self._max_entries or self._chars > self._max_chars:
                self._drop(next(iter(self._entries)))
            self._forget_ends()
            return True

    def get(self, thread_id: str, key: str, default: Any = None) -> Any:
        """Return what was set, `default` if nothing was, or if it expired."""
        with self._lock:
            now = self._clock()
            self._free(now)
            entry = self._entries.get((thread_id, key))
            if entry is None:
                return default
            if entry.expires_at <= now:
                self._drop((thread_id, key))
                return default
            return entry.value

    def delete(self, thread_id: str, key: str) -> None:
        """Free one entry; it need not be there."""
        with self._lock:
            self._drop((thread_id, key))

    def forget(self, thread_id: str) -> None:
        """Free all entries of a thread."""
        with self._lock:
            for key in list(self._keys.get(thread_id, ())):
                self._drop((thread_id, key))

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)

    def __repr__(self) -> str:
        with self._lock:
            return f"<TransientState threads={len(self._keys)} entries={len(self._entries)}>"

    def __reduce__(self) -> NoReturn:
        raise LeakBlockedError("Transient state lives in this process only: it can't be pickled or copied.")

    def __getstate__(self) -> NoReturn:
        self.__reduce__()

    def _drop(self, place: tuple[str, str]) -> None:
        entry = self._entries.pop(place, None)
        if entry is None:
            return
        self._chars -= entry.chars
        thread_id, key = place
        keys = self._keys[thread_id]
        keys.discard(key)
        if not keys:
            del self._keys[thread_id]

    def _free(self, now: float) -> None:
        """Free some of what expired."""
        for _ in range(FREED_AT_ONCE):
            if not self._ends or self._ends[0][0] > now:
                return
            _end, number, place = heapq.heappop(self._ends)
            entry = self._entries.get(place)
            if entry is not None and entry.number == number:  # not set anew since
                self._drop(place)

    def _forget_ends(self) -> None:
        """Rebuild the queue of ends where most of it speaks of entries that are gone."""
        if len(self._ends) > 2 * len(self._entries) + FREED_AT_ONCE:
            self._ends = [(entry.expires_at, entry.number, place) for place, entry in self._entries.items()]
            heapq.heapify(self._ends)


@cache
def default_transient_state() -> TransientState:
    """Return the transient state of this process."""
    return TransientState()


def _seconds(key: str, ttl: float | None) -> float:
    """Return how long an entry lives.

    Raises:
        TransientEntryError: As `set` says. The message names no key: it may hold what a user said.
    """
    default = next(
        (seconds for prefix, seconds in DEFAULT_SECONDS.items() if key.startswith(prefix) and key != prefix), None
    )
    if default is None or len(key) > MAX_KEY_CHARS:
        raise TransientEntryError(
            f"A key of transient state begins with {', '.join(DEFAULT_SECONDS)} and has a name of its own after that, "
            f"{MAX_KEY_CHARS:,} characters at most."
        )
    seconds = default if ttl is None else ttl
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise TransientEntryError(f"Transient state lives {MIN_SECONDS:.0f} to {MAX_SECONDS:,.0f} seconds.")
    return seconds


def _chars(value: object) -> int:
    """Return about how much `value` holds; what it holds twice, or in itself, counts once."""
    total = 0
    seen: set[int] = set()
    waiting = [value]
    while waiting and len(seen) < MEASURED_OBJECTS:
        item = waiting.pop()
        if isinstance(item, str | bytes | bytearray):
            total += len(item)
        elif id(item) not in seen:
            seen.add(id(item))
            total += OBJECT_CHARS + _array_bytes(item)
            waiting += _parts(item)
    return total


def _parts(item: object) -> list[Any]:
    """Return what `item` consists of; a class, a function or a module leads everywhere and has no parts here."""
    if isinstance(item, Mapping):
        return [*item.keys(), *item.values()]
    if isinstance(item, list | tuple | set | frozenset):
        return list(item)
    if callable(item) or isinstance(item, ModuleType):
        return []
    return list(getattr(item, "__dict__", {}).values())


def _array_bytes(item: object) -> int:
    """Return the size of an array's data (NumPy's name for it, and memoryview's)."""
    size = getattr(item, "nbytes", 0)
    return size if isinstance(size, int) else 0

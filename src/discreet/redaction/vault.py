"""The turn vault in this process's memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from discreet.erased import Erased, on_erasure

MAX_CHARS = 120_000_000
"""In all turns."""

TURN_SHARE = 4
"""One turn holds at most a quarter of all: by default 30 million characters. A request with the largest medium that is
taken (20 MB) has 27 million in base64."""


SWEEP_SECONDS = 1.0


@dataclass(slots=True)
class _Turn:
    expires: float
    chars: int = 0
    values: dict[str, str] = field(default_factory=dict, repr=False)


class InMemoryTurnVault:
    """Keeps the values of running turns in RAM, and nowhere else. Safe to use from several threads.

    A turn is forgotten `ttl` seconds after it was last added to, or as many as it was then given. Of more than `max_chars` characters in all turns the oldest
    turns are forgotten first. One turn holds a quarter of that at most: of what is over it the largest values are not kept,
    so that nobody's large message costs others theirs. `clock` returns seconds.

    Example:
        >>> vault = InMemoryTurnVault()
        >>> vault.hold("turn-1", {"<EMAIL:7K2QX3MD>": "ann@example.com"})
        >>> vault.values("turn-1")
        {'<EMAIL:7K2QX3MD>': 'ann@example.com'}
        >>> vault.drop("turn-1")
        >>> vault.values("turn-1")
        {}
    """

    def __init__(
        self, *, ttl: float = 3600, max_chars: int = MAX_CHARS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ttl = ttl
        self._max_chars = max_chars
        self._clock = clock
        self._lock = threading.Lock()
        self._turns: dict[str, _Turn] = {}
        """Oldest first: a turn that is added to becomes the newest."""
        self._chars = 0
        self._swept = clock()
        on_erasure(self._drop_erased)

    def __repr__(self) -> str:
        return f"InMemoryTurnVault({len(self._turns)} turns)"

    def hold(self, turn: str, values: Mapping[str, str], *, seconds: float | None = None) -> None:
        """Add `values` to those of `turn`, which then lives that long. A placeholder keeps the value it had first."""
        with self._lock:
            now = self._clock()
            self._sweep(now)
            if turn in self._turns and self._turns[turn].expires <= now:
                self._forget(turn)
            held = self._turns.pop(turn, None) or _Turn(now)
            held.expires = now + (self._ttl if seconds is None else seconds)
            self._turns[turn] = held
            for placeholder, value in sorted(values.items(), key=_size):
                size = _size((placeholder, value))
                if placeholder not in held.values and held.chars + size <= self._max_chars // TURN_SHARE:
                    held.values[placeholder] = value
                    held.chars += size
                    self._chars += size
            while self._chars > self._max_chars:
                self._forget(next(iter(self._turns)))

    def values(self, turn: str) -> dict[str, str]:
        """Return a copy of all values of `turn`; none if it is unknown, over, or forgotten."""
        with self._lock:
            now = self._clock()
            self._sweep(now)
            held = self._turns.get(turn)
            return dict(held.values) if held and held.expires > now else {}

    def drop(self, turn: str) -> None:
        """Forget `turn`."""
        with self._lock:
            self._forget(turn)

    async def ahold(self, turn: str, values: Mapping[str, str], *, seconds: float | None = None) -> None:
        """Do what `hold` does; it never waits."""
        self.hold(turn, values, seconds=seconds)

    async def avalues(self, turn: str) -> dict[str, str]:
        """Do what `values` does; it never waits."""
        return self.values(turn)

    async def adrop(self, turn: str) -> None:
        """Do what `drop` does; it never waits."""
        self.drop(turn)

    def _drop_erased(self, erased: Erased) -> None:
        with self._lock:
            gone = [turn for turn in self._turns if erased.has_turn(turn)]
        for turn in gone:
            self.drop(turn)

    def _sweep(self, now: float) -> None:
        """Forget what has expired, once in `SWEEP_SECONDS`: it takes a look at every turn."""
        if now < self._swept + SWEEP_SECONDS:
            return
        self._swept = now
        for turn in [turn for turn, held in self._turns.items() if held.expires <= now]:
            self._forget(turn)

    def _forget(self, turn: str) -> None:
        held = self._turns.pop(turn, None)
        if held is not None:
            self._chars -= held.chars


def _size(item: tuple[str, str]) -> int:
    return len(item[0]) + len(item[1])


@cache
def default_vault() -> InMemoryTurnVault:
    """Return the vault of this process, which nodes share that are given none."""
    from discreet.settings import load_settings  # takes longer to import than all of this room

    return InMemoryTurnVault(ttl=load_settings().vault_seconds)

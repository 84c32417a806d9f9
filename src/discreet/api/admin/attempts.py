"""Slow down those who try one token after the other."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

MOST = 10
"""Attempts that one address has in `WINDOW_SECONDS`. Behind a proxy all share its address, so it is no small number."""
WINDOW_SECONDS = 60.0
MAX_ADDRESSES = 1_000
"""Addresses that are remembered; beyond that the one that failed first is forgotten."""


class Attempts:
    """Attempts to sign in that did not succeed, by the address they came from."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Measure by `clock`, in seconds."""
        self._clock = clock
        self._made: dict[str, list[float]] = {}

    def begin(self, address: str) -> int:
        """Count an attempt before it is checked, so that many at once count too.

        Return 0 if it may be made, else the seconds to wait.
        """
        now = self._clock()
        recent = [then for then in self._made.get(address, []) if now - then < WINDOW_SECONDS]
        if len(recent) >= MOST:
            return max(1, math.ceil(recent[0] + WINDOW_SECONDS - now))
        self._made[address] = [*recent, now]
        while len(self._made) > MAX_ADDRESSES:
            del self._made[next(iter(self._made))]
        return 0

    def succeeded(self, address: str) -> None:
        """Forget the attempts of `address`."""
        self._made.pop(address, None)

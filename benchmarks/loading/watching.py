"""Look at processes every few seconds while something goes on, and tell whether their memory stays flat."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from loading.processes import Usage, usage_of

PERIOD_SECONDS = 10.0

WARM_SHARE = 0.4
"""Of the time, before which growth is that of caches and pools that fill, and of people who are still coming."""

FLAT_SHARE = 0.1
"""Growth in an hour, as the slope after that has it, of a process that counts as flat would be at most this of its size in
ten minutes."""
FLAT_SECONDS = 600.0
LEAST_SECONDS = 300.0
"""The slope of a shorter run says nothing."""


@dataclass
class Watch:
    """What was seen."""

    seen: dict[str, list[tuple[float, Usage]]] = field(default_factory=dict)
    """By name: seconds since the beginning, and usage."""

    def cpu_seconds(self, name: str) -> float:
        """Return what a process used from the first look to the last."""
        looks = self.seen[name]
        return looks[-1][1].cpu_seconds - looks[0][1].cpu_seconds

    def memory(self, name: str) -> str:
        """Return the first, the last and the highest size, and the verdict."""
        looks = self.seen[name]
        sizes = [usage.resident_bytes / 1e6 for _, usage in looks]
        growth = self.growth(name)
        verdict = "too short to tell" if growth is None else "flat" if growth <= FLAT_SHARE else "grows"
        slope = "" if growth is None else f", {100 * growth:+.1f} % in ten minutes"
        return (
            f"{sizes[0]:,.0f} MB at first, {sizes[-1]:,.0f} MB at last, {max(sizes):,.0f} MB at most{slope}: {verdict}"
        )

    def growth(self, name: str) -> float | None:
        """Return by which share of its size a process grows in ten minutes once it is warm; None if that is too short."""
        looks = self.seen[name]
        warm = [(at, usage.resident_bytes) for at, usage in looks if at >= WARM_SHARE * looks[-1][0]]
        if looks[-1][0] < LEAST_SECONDS:
            return None
        slope, _ = np.polyfit([at for at, _ in warm], [size for _, size in warm], 1)
        return float(slope) * FLAT_SECONDS / max(1, warm[0][1])


@contextmanager
def watched(pids: Mapping[str, Callable[[], Sequence[int]]], period: float = PERIOD_SECONDS) -> Iterator[Watch]:
    """Look at processes, by name; their ids are asked for each time, as some are started anew."""
    watch, ended, began = Watch({name: [] for name in pids}), threading.Event(), time.monotonic()

    def look() -> None:
        for name, ids in pids.items():
            usage = sum((usage_of(pid) for pid in ids()), Usage())
            if usage.resident_bytes:  # else it is not there at the moment
                watch.seen[name].append((time.monotonic() - began, usage))

    def keep_looking() -> None:
        while not ended.wait(period):
            look()

    look()
    thread = threading.Thread(target=keep_looking, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()
        look()

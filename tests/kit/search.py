"""Say which plants stand in which places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np

from kit.compressed import inflated
from kit.forms import needles
from kit.places import NothingThereError, Places, rows
from kit.planter import Planter

FEW: Final = 100
"""Needles that are looked for one after the other, which takes 0.1 s for 100 MB; more are looked for at once, in 3 s."""
HEAD: Final = 8
"""Bytes by which many needles are looked up at once."""

HASH_BITS: Final = 22
SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio of 2^64."""


class Sought(Protocol):
    """What knows its values again."""

    def within(self, data: bytes) -> Iterable[str]:
        """Return the names of the values that stand in `data`."""


SHORTEST: Final = 5
"""Bytes: fewer stand in random data by chance."""


class Words:
    """Values that are whole, by their names, in any form; those without a name are no secret and are named by themselves.

    Raises:
        ValueError: A value is so short that it is anywhere.
    """

    def __init__(self, *plain: str, values: Mapping[str, str | bytes] | None = None, **named: str | bytes) -> None:
        self._names: dict[bytes, set[str]] = {}
        for name, value in ({each: each for each in plain} | dict(values or {}) | named).items():
            if len(value) < SHORTEST:
                raise ValueError(f"{name} is too short to be told from chance")
            for needle in [value] if isinstance(value, bytes) else needles(value):
                self._names.setdefault(needle, set()).add(name)
        self._heads: Heads | None = Heads(self._names) if len(self._names) > FEW else None

    def within(self, data: bytes | str) -> set[str]:
        """Return the names of the values that stand in `data`."""
        data = data.encode(errors="replace") if isinstance(data, str) else data
        found = self._heads.within(data) if self._heads else (each for each in self._names if each in data)
        return {name for needle in found for name in self._names[needle]}


class Heads:
    """Looks for thousands of needles at once, by their first bytes."""

    def __init__(self, sought: Iterable[bytes]) -> None:
        self._by_head: dict[int, list[bytes]] = {}
        self._short = []
        for needle in sought:
            if len(needle) < HEAD:
                self._short.append(needle)
            else:
                self._by_head.setdefault(int.from_bytes(needle[:HEAD], "little"), []).append(needle)
        self._heads = np.array(sorted(self._by_head), dtype=np.uint64)
        self._likely = np.zeros(1 << HASH_BITS, dtype=bool)
        self._likely[_hashed(self._heads)] = True

    def within(self, data: bytes) -> Iterator[bytes]:
        """Yield the needles that stand in `data`, some of them several times."""
        yield from (needle for needle in self._short if needle in data)
        for offset in range(min(HEAD, len(data) - HEAD + 1)):
            values = np.frombuffer(data, dtype="<u8", count=(len(data) - offset) // HEAD, offset=offset)
            for at in np.flatnonzero(self._likely[_hashed(values)]):
                for needle in self._by_head.get(int(values[at]), ()):
                    if data.startswith(needle, offset + int(at) * HEAD):
                        yield needle


def _hashed(values: np.ndarray[Any, np.dtype[np.uint64]]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return numbers of HASH_BITS for the heads (Knuth, The Art of Computer Programming 3, section 6.4)."""
    hashed: np.ndarray[Any, np.dtype[np.uint64]] = (values * SPREAD) >> np.uint64(64 - HASH_BITS)
    return hashed


@dataclass
class Found:
    """What was found where, and how much was searched."""

    leaks: dict[str, set[str]] = field(default_factory=dict)
    """Places by the names of the plants that are there."""
    kept: dict[str, set[str]] = field(default_factory=dict)
    """Places by the words that must be kept."""
    size: int = 0

    @property
    def places(self) -> set[str]:
        """All places where something leaks."""
        return set().union(*self.leaks.values())

    def kept_in_rows(self) -> set[str]:
        """Return the words to keep that are in a table."""
        return {word for word, where in self.kept.items() if any(place.startswith("table ") for place in where)}


def search(places: Places, sought: Sought) -> Found:
    """Search all `places` for what was planted, as it is there and in what is compressed there.

    Raises:
        NothingThereError: There is none of them.
    """
    found, where = Found(), None
    for where, data in places:
        found.size += len(data)
        for each in (data, inflated(data)):
            for name in sought.within(each):
                found.leaks.setdefault(name, set()).add(where)
        for word in sought.kept_within(data) if isinstance(sought, Planter) else ():
            found.kept.setdefault(word, set()).add(where)
    if where is None:
        raise NothingThereError("nothing was searched")
    return found


def in_rows(dsn: str, *plain: str, **named: str | bytes) -> dict[str, set[str]]:
    """Return which of some values are in which tables of a database."""
    return search(rows(dsn), Words(*plain, **named)).leaks

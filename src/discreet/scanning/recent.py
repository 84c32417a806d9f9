"""Remember what was met last, a bounded number of things."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A dict of the newest entries: `size` at most, and half of that at least. What is looked up counts as new."""

    def __init__(self, size: int) -> None:
        self._half = size // 2
        self._newer: dict[K, V] = {}
        self._older: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return what is known of a key."""
        found = self._newer.get(key)
        if found is None and (found := self._older.get(key)) is not None:
            self.put(key, found)
        return found

    def put(self, key: K, value: V) -> None:
        """Know this of a key from now on."""
        if len(self._newer) >= self._half:
            self._older, self._newer = self._newer, {}
        self._newer[key] = value

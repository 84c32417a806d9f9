"""Texts in which nothing was found, known by their digests: what a turn keeps in six places is searched once."""

from __future__ import annotations

import hashlib


class CleanTexts:
    """Knows the newest texts that were added, by their digests. Holds no text and no value.

    Thread-safe without a lock: whatever interrupts it (a signal, a finaliser, a fork) may log, and a log record is redacted.
    What two threads do at once is at worst forgotten.
    """

    def __init__(self, size: int = 20_000) -> None:
        """Know `size` texts at most, and half of that at least."""
        self._most = size // 2
        self._newer: dict[bytes, None] = {}
        self._older: dict[bytes, None] = {}

    def __getstate__(self) -> dict[str, object]:
        """Copies begin anew: what a process has read goes nowhere with its redactor."""
        return {"_most": self._most, "_newer": {}, "_older": {}}

    def has(self, digest: bytes) -> bool:
        """Whether the text of this digest was added."""
        if digest in self._newer:
            return True
        known = digest in self._older
        if known:
            self.add(digest)
        return known

    def add(self, digest: bytes) -> None:
        """Know the text of this digest from now on."""
        if len(self._newer) >= self._most:
            self._older, self._newer = self._newer, {}
        self._newer[digest] = None


def digest_of(*parts: str) -> bytes:
    """Return what a text is known by, with what it belongs to before it."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()

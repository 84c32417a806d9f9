"""Texts in which nothing was found, known by their digests: what a turn keeps in six places is searched once."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict


class CleanTexts:
    """Knows the last texts that were added, by their digests. Holds no text and no value. Thread-safe."""

    def __init__(self, size: int = 20_000) -> None:
        self._size = size
        self._digests: OrderedDict[bytes, None] = OrderedDict()
        self._lock = threading.Lock()

    def has(self, digest: bytes) -> bool:
        """Whether the text of this digest was added."""
        with self._lock:
            known = digest in self._digests
            if known:
                self._digests.move_to_end(digest)
            return known

    def add(self, digest: bytes) -> None:
        """Know the text of this digest from now on."""
        with self._lock:
            self._digests[digest] = None
            if len(self._digests) > self._size:
                self._digests.popitem(last=False)


def digest_of(*parts: str) -> bytes:
    """Return what a text is known by, with what it belongs to before it."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()

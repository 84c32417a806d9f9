"""What every embedding provider does to its texts and vectors."""

from __future__ import annotations

import hashlib
import math
import threading
from array import array
from collections import OrderedDict
from collections.abc import Sequence

from discreet.errors import ProviderError
from discreet.state.text import storable


def embeddable(text: str, limit: int) -> str:
    """Return `text` as models take it: no NUL (it ends a C string), no lone surrogate (it is no UTF-8), not empty.

    Of a text longer than `limit` characters its two ends are kept: a question stands before or after the material that
    it is about.
    """
    text = storable(text).strip() or " "
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} {text[-(limit - half - 1) :]}"


def unit(vector: Sequence[float], dims: int) -> list[float]:
    """Return `vector` at length 1.

    Raises:
        ProviderError: It has not `dims` floats, or they have no direction (zeros, infinity, NaN).
    """
    if len(vector) != dims:
        raise ProviderError(
            f"The embedding model returned {len(vector)} floats instead of {dims}. "
            "Set DISCREET_EMBEDDING_DIMS to what the model gives."
        )
    length = math.sqrt(math.fsum(x * x for x in vector))
    if not (math.isfinite(length) and length > 0):
        raise ProviderError("The embedding model returned a vector without a direction.")
    return [x / length for x in vector]


class VectorCache:
    """The vectors of the last texts, kept under a hash of the text so that no text stays in memory. Thread-safe."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._vectors: OrderedDict[bytes, array[float]] = OrderedDict()
        self._lock = threading.Lock()

    @staticmethod
    def key(text: str) -> bytes:
        """Return the key of `text`."""
        return hashlib.blake2b(text.encode(), digest_size=16).digest()

    def get(self, key: bytes) -> list[float] | None:
        """Return a copy of the vector that was put under `key`, or None."""
        with self._lock:
            vector = self._vectors.get(key)
            if vector is None:
                return None
            self._vectors.move_to_end(key)
            return list(vector)

    def put(self, key: bytes, vector: Sequence[float]) -> None:
        """Keep a copy of `vector`; the one unused for longest goes when there are too many."""
        with self._lock:
            self._vectors[key] = array("d", vector)
            self._vectors.move_to_end(key)
            if len(self._vectors) > self._size:
                self._vectors.popitem(last=False)

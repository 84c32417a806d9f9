"""Keys of fixed size for names of any length."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from uuid import UUID


def digest(*parts: str) -> UUID:
    """Return 128 bits that stand for `parts` in an index: an entry holds 2,704 bytes, a name may be longer.

    No part but the last may hold NUL.
    """
    return UUID(bytes=blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest())


@lru_cache(maxsize=1_000)
def app_key_of(app_name: str) -> UUID:
    """Return the key of an application."""
    return digest(app_name)

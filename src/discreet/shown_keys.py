"""What stands for the key of a user where who reads it may be somebody else."""

from __future__ import annotations

import hashlib
from uuid import UUID


def shown_key(key: UUID) -> UUID:
    """Return SHA-256 of a key, cut to 128 bits, as the column `owner` of checkpoint_threads has it too.

    Whoever has the key knows it again. Nobody finds the key by it, which a transaction has to name to see the user's rows.
    """
    return UUID(bytes=hashlib.sha256(key.bytes).digest()[:16])

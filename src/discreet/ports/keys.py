"""Keys that values are sealed with, and what wraps such keys."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Protocol

from discreet.errors import ConfigurationError

KEY_BYTES = 32
"""Length of a key: AES-256."""
_KEY_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True)
class Key:
    """A key for AES-256-GCM. Its secret is not shown.

    Raises:
        ConfigurationError: The id is not 1 to 64 of A-Z a-z 0-9 . _ - or the secret not 32 bytes.
    """

    id: str
    """Stored beside each value that it seals."""
    secret: bytes = field(repr=False)
    """32 random bytes."""

    def __post_init__(self) -> None:
        if not _KEY_ID.fullmatch(self.id) or len(self.secret) != KEY_BYTES:
            raise ConfigurationError(f"A key needs an id of 1 to 64 of A-Z a-z 0-9 . _ - and {KEY_BYTES} bytes.")


class KeyProvider(Protocol):
    """Knows the keys that values are sealed with. Asked on the event loop: it answers from RAM."""

    def current(self) -> Key:
        """Return the key for what is sealed from now on."""
        ...

    def find(self, key_id: str) -> Key | None:
        """Return a key by its id; None if it is not known, or no longer."""
        ...


class KeyWrapper(Protocol):
    """A key management service: it encrypts keys of others under one that it never hands out.

    Both ask the service and are called in a thread, when keys are made and when a process starts.

    Raises, from both:
        EncryptionError: It refuses, or can't be reached. The message says what to do and quotes nothing of its answer.
    """

    def wrap(self, secret: bytes) -> bytes:
        """Return `secret` encrypted."""
        ...

    def unwrap(self, wrapped: bytes) -> bytes:
        """Return the secret that `wrap` took."""
        ...

"""Encryption keys for tests: made at run time, rotated and lost at will."""

from __future__ import annotations

from discreet.encryption import make_key, seal, unseal
from discreet.ports import Key


class InMemoryKeys:
    """The port `KeyProvider` with a random key to begin with.

    Example:
        >>> keys = InMemoryKeys()
        >>> old = keys.current()
        >>> keys.rotate() == old, keys.find(old.id) == old
        (False, True)
        >>> keys.forget(old.id)
        >>> keys.find(old.id) is None
        True
    """

    def __init__(self) -> None:
        self._keys: dict[str, Key] = {}
        self._current = self.rotate()

    def current(self) -> Key:
        """Return the newest key."""
        return self._current

    def find(self, key_id: str) -> Key | None:
        """Return a key that was not forgotten."""
        return self._keys.get(key_id)

    def rotate(self) -> Key:
        """Make a new key the current one and return it. Older ones are still found."""
        self._current = make_key()
        self._keys[self._current.id] = self._current
        return self._current

    def forget(self, key_id: str) -> None:
        """Lose a key."""
        del self._keys[key_id]


class InMemoryKeyWrapper:
    """The port `KeyWrapper`: a key management service in this process, whose key is lost with it.

    Example:
        >>> wrapper = InMemoryKeyWrapper()
        >>> wrapper.unwrap(wrapper.wrap(b"of 32 bytes"))
        b'of 32 bytes'
    """

    def __init__(self) -> None:
        self._keys = InMemoryKeys()

    def wrap(self, secret: bytes) -> bytes:
        """Return `secret` encrypted."""
        return seal(secret, b"", self._keys)

    def unwrap(self, wrapped: bytes) -> bytes:
        """Return the secret that `wrap` took.

        Raises:
            EncryptionError: This service did not wrap it.
        """
        return unseal(wrapped, b"", self._keys)

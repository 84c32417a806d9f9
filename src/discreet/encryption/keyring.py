"""Keys in RAM, and how they are written."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Iterable, Sequence
from typing import Final

from discreet.errors import ConfigurationError
from discreet.ports import KEY_BYTES, Key

MAKE_ONE: Final = "Make one with `discreet key`."
"""How to get a key, for messages."""


class Keyring:
    """Keys in RAM. The first seals; all of them unseal, so that values from before a rotation stay readable."""

    def __init__(self, keys: Sequence[Key]) -> None:
        """Use `keys`, at least one.

        Raises:
            ConfigurationError: There is none, or two have the same id.
        """
        self._keys = {key.id: key for key in keys}
        if not keys or len(self._keys) < len(keys):
            raise ConfigurationError(f"A keyring needs one key at least, and every id once. {MAKE_ONE}")
        self._current = keys[0]

    def current(self) -> Key:
        """Return the first key."""
        return self._current

    def find(self, key_id: str) -> Key | None:
        """Return the key of that id."""
        return self._keys.get(key_id)


def make_key() -> Key:
    """Return a new key with a random id."""
    return Key(secrets.token_hex(4), secrets.token_bytes(KEY_BYTES))


def write_key(key: Key) -> str:
    """Return `key` as DISCREET_ENCRYPTION_KEYS takes it. The text is the secret: show it to nobody but its owner."""
    return f"{key.id}:{base64.b64encode(key.secret).decode()}"


def read_keys(entries: Iterable[str], where: str) -> Keyring:
    """Return the keys of `entries`, each written by `write_key`, the current one first.

    Raises:
        ConfigurationError: One can't be used. The message tells which one of what is `where`, never what it holds.
    """
    keys: list[Key] = []
    for number, entry in enumerate(entries, start=1):
        key = _read_key(entry.strip())
        if key is None or key.id in {known.id for known in keys}:
            raise ConfigurationError(
                f"{where}: entry {number} can't be used. Give id:key[,id:key…], the current one first: "
                f"an id of its own (1 to 64 of A-Z a-z 0-9 . _ -) and 32 bytes in base64. {MAKE_ONE}"
            )
        keys.append(key)
    if not keys:
        raise ConfigurationError(f"{where} holds no key. {MAKE_ONE}")
    return Keyring(keys)


def _read_key(entry: str) -> Key | None:
    key_id, _, secret = entry.partition(":")
    try:
        return Key(key_id, base64.b64decode(secret, validate=True))
    except (binascii.Error, ValueError, ConfigurationError):  # ValueError: not ASCII
        return None

"""Seal values that have to lie in a database for a while, and read the keys that do it from the settings.

A sealed value is, in this order:

| bytes | |
|---|---|
| 1 | version of this format: 1 |
| 1 | length of the key id, 1 to 64 |
| as many | key id, ASCII |
| 12 | nonce, random |
| any | ciphertext, as long as the plaintext |
| 16 | tag |

The cipher is AES-256-GCM (NIST SP 800-38D). What stands before the nonce is authenticated too. A key is good for 2**32
values, the bound for random nonces (section 8.3): rotate it long before.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from discreet.errors import ConfigurationError, EncryptionError
from discreet.ports import KEY_BYTES, Key, KeyProvider
from discreet.settings import Settings, load_settings

VERSION = 1
NONCE_BYTES = 12
TAG_BYTES = 16
MAKE_ONE = "Make one with `discreet key`."
"""How to get a key, for messages."""


def seal(plaintext: bytes, aad: bytes, keys: KeyProvider) -> bytes:
    """Return `plaintext` encrypted under the current key. The same text never gives the same bytes.

    `aad` is not stored: it says what the value belongs to, and the same has to be given to `unseal`.

    Example:
        >>> keys = Keyring([make_key()])
        >>> sealed = seal(b"Ann's answer", associate("thread", "1"), keys)
        >>> unseal(sealed, associate("thread", "1"), keys)
        b"Ann's answer"
    """
    key = keys.current()
    key_id = key.id.encode()
    header = bytes((VERSION, len(key_id))) + key_id
    nonce = secrets.token_bytes(NONCE_BYTES)
    return header + nonce + AESGCM(key.secret).encrypt(nonce, plaintext, header + aad)


def unseal(sealed: bytes, aad: bytes, keys: KeyProvider) -> bytes:
    """Return the plaintext of `sealed`.

    Raises:
        EncryptionError: It was sealed under a key that `keys` doesn't have, for another `aad`, or was changed since.
    """
    start = 2 + sealed[1] if len(sealed) > 1 else 0
    if len(sealed) < start + NONCE_BYTES + TAG_BYTES or sealed[0] != VERSION:
        raise EncryptionError
    header, nonce, ciphertext = sealed[:start], sealed[start : start + NONCE_BYTES], sealed[start + NONCE_BYTES :]
    key = keys.find(header[2:].decode("ascii", "replace"))
    if key is None:
        raise EncryptionError
    try:
        return AESGCM(key.secret).decrypt(nonce, ciphertext, header + aad)
    except InvalidTag:
        raise EncryptionError from None


def associate(*parts: str) -> bytes:
    """Return `parts` as one `aad`. Each is preceded by its length, so no other parts give the same bytes."""
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(len(part).to_bytes(4, "big") + part for part in encoded)


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


def keys_from_settings(settings: Settings | None = None) -> Keyring | None:
    """Return the keys of DISCREET_ENCRYPTION_KEYS; None if it is not set.

    Raises:
        ConfigurationError: The variable can't be used. The message tells which entry is wrong, never what it holds.
    """
    given = (settings or load_settings()).encryption_keys
    if given is None:
        return None
    keys: list[Key] = []
    for number, entry in enumerate(given.get_secret_value().split(","), start=1):
        key = _read_key(entry.strip())
        if key is None or key.id in {known.id for known in keys}:
            raise ConfigurationError(
                f"DISCREET_ENCRYPTION_KEYS: entry {number} can't be used. Give id:key[,id:key…], the current one first: "
                f"an id of its own (1 to 64 of A-Z a-z 0-9 . _ -) and 32 bytes in base64. {MAKE_ONE}"
            )
        keys.append(key)
    return Keyring(keys)


def _read_key(entry: str) -> Key | None:
    key_id, _, secret = entry.partition(":")
    try:
        return Key(key_id, base64.b64decode(secret, validate=True))
    except (binascii.Error, ValueError, ConfigurationError):  # ValueError: not ASCII
        return None

"""Seal one value, and open it where it belongs.

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

import secrets
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from discreet.errors import EncryptionError
from discreet.ports import KeyProvider

VERSION = 1
NONCE_BYTES = 12
TAG_BYTES = 16


def seal(plaintext: bytes, aad: bytes, keys: KeyProvider) -> bytes:
    """Return `plaintext` encrypted under the current key. The same text never gives the same bytes.

    `aad` is not stored: it says what the value belongs to, and the same has to be given to `unseal`.

    Example:
        >>> from discreet.encryption import Keyring, make_key
        >>> keys, answers = Keyring([make_key()]), Column("log", "answer")
        >>> sealed = seal(b"Ann's answer", answers.of("ann", "1"), keys)
        >>> unseal(sealed, answers.of("ann", "1"), keys)
        b"Ann's answer"
    """
    key = keys.current()
    header = key_header(key.id)
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
    key = keys.find(key_id_of(header))
    if key is None:
        raise EncryptionError
    try:
        return AESGCM(key.secret).decrypt(nonce, ciphertext, header + aad)
    except InvalidTag:
        raise EncryptionError from None


def key_header(key_id: str) -> bytes:
    """Return what every value begins with that is sealed under the key of that id."""
    return bytes((VERSION, len(key_id))) + key_id.encode()


def key_id_of(header: bytes) -> str:
    """Return the id of the key that a value with this header is sealed under."""
    return header[2:].decode("ascii", "replace")


def associate(*parts: str | UUID | bytes) -> bytes:
    """Return `parts` as one `aad`. Each is preceded by its length, so no other parts give the same bytes."""
    encoded = [part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass") for part in parts]
    return b"".join([len(part).to_bytes(4, "big") + part for part in encoded])


@dataclass(frozen=True)
class Column:
    """A column of sealed values. What is sealed for one row of it can't be opened in another row, column or table."""

    table: str
    """That the column is in."""
    name: str
    """Of the column."""

    def of(self, *row: str | UUID | bytes) -> bytes:
        """Return the `aad` of the value in the row of this key, whose first part is whose it is, where that is known."""
        return self._place + associate(*row)

    @cached_property
    def _place(self) -> bytes:
        return associate(self.table, self.name)

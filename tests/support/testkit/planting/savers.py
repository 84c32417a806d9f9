"""Open stock savers with the serializers that people give them."""

from __future__ import annotations

import os
from hashlib import sha256

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from langgraph.checkpoint.serde.base import CipherProtocol, SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer


class Cipher(CipherProtocol):
    """AES-256-GCM under a name of its own, as LangGraph's own cipher needs another package."""

    def __init__(self) -> None:
        self._key = AESGCM(sha256(b"planting").digest())

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        """Return the name of the cipher, and nonce and ciphertext."""
        nonce = os.urandom(12)
        return "aes", nonce + self._key.encrypt(nonce, plaintext, None)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        """Return the plaintext."""
        assert ciphername == "aes"
        return self._key.decrypt(ciphertext[:12], ciphertext[12:], None)


def serializer(kind: str) -> SerializerProtocol:
    """Return the serializer of a saver: `pickling`, `encrypting`, or of any other name the default."""
    if kind == "encrypting":
        return EncryptedSerializer(Cipher(), JsonPlusSerializer(pickle_fallback=True))
    return JsonPlusSerializer(pickle_fallback=kind == "pickling")

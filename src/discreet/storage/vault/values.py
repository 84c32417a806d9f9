"""How values of turns lie where several processes can get at them: sealed with their names, under digests."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from uuid import UUID

from discreet.encryption import MAKE_ONE, seal, unseal
from discreet.errors import ConfigurationError, EncryptionError
from discreet.metrics import vault_failures
from discreet.ports import KeyProvider
from discreet.storage.database.keys import digest
from discreet.storage.database.sealed_columns import VAULT_VALUE

logger = logging.getLogger(__name__)

TTL_SECONDS = 3600.0
"""After a turn was last added to, as in RAM."""

MAX_TURN_BYTES = 30_000_000
"""That one turn holds, sealed: a request with the largest medium that is taken (20 MB) has 27 MB in base64."""

LARGE_BYTES = 100_000
"""From here on sealing is work for a thread: it takes about a millisecond a megabyte, and the event loop must not wait."""

_NAME_BYTES = 4


class VaultValues:
    """Seals the values of a turn one by one, and opens them.

    Nothing that is stored tells what a value is of: a turn is known by a digest, and a name by a digest keyed with its
    turn's, so the same name is another one in each turn. The name itself is sealed with its value.
    """

    def __init__(self, keys: KeyProvider | None) -> None:
        """Seal under the current key of `keys`.

        Raises:
            ConfigurationError: There are none. What turns really said is never stored readable.
        """
        if keys is None:
            raise ConfigurationError(
                "A turn vault that several processes share needs DISCREET_ENCRYPTION_KEYS, the same in all of them. "
                f"{MAKE_ONE} Without, set DISCREET_TURN_VAULT=memory."
            )
        self._keys = keys

    @staticmethod
    def turn_key(turn: str) -> UUID:
        """Return what a turn is known by."""
        return digest("turn", turn)

    def sealed(self, turn: str, values: Mapping[str, str]) -> list[tuple[UUID, bytes]]:
        """Return what is stored of `values`, by digest of the name: the smallest first."""
        rows = [self._sealed(turn, name, value) for name, value in values.items()]
        return sorted(rows, key=lambda row: len(row[1]))

    def opened(self, turn: str, rows: Iterable[tuple[UUID, bytes]]) -> dict[str, str]:
        """Return the values by name. One whose key is not known, or that was changed, is lost; a log event counts them."""
        found: dict[str, str] = {}
        lost = 0
        for value_key, sealed in rows:
            try:
                plain = unseal(sealed, VAULT_VALUE.of(turn, value_key), self._keys)
            except EncryptionError:
                lost += 1
                continue
            end = _NAME_BYTES + int.from_bytes(plain[:_NAME_BYTES], "big")
            found[_text(plain[_NAME_BYTES:end])] = _text(plain[end:])
        if lost:
            vault_failures.labels(EncryptionError.__name__).inc()
            logger.warning("turn_vault_unreadable values=%d", lost)
        return found

    def _sealed(self, turn: str, name: str, value: str) -> tuple[UUID, bytes]:
        named = _bytes(name)
        key = blake2b(named, digest_size=16, key=blake2b(_bytes(turn), digest_size=32, person=b"vault value").digest())
        value_key = UUID(bytes=key.digest())
        plain = len(named).to_bytes(_NAME_BYTES, "big") + named + _bytes(value)
        return value_key, seal(plain, VAULT_VALUE.of(turn, value_key), self._keys)


def is_large(values: Mapping[str, str]) -> bool:
    """Return whether sealing `values` takes long enough to be done in a thread."""
    return sum(map(len, values.values())) > LARGE_BYTES


def _bytes(text: str) -> bytes:
    """Return any text as bytes: a model's output may hold half of a surrogate pair."""
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")

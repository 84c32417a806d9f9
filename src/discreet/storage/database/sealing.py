"""Seal the fields of a row that hold what a person said, where there is a key."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from discreet import metrics
from discreet.encryption import associate, seal, unseal
from discreet.errors import EncryptionError
from discreet.ports import KeyProvider

logger = logging.getLogger(__name__)

MAX_NAMED = 20
"""Rows in one event of the log."""


def report_unreadable(kind: str, ids: Sequence[object]) -> None:
    """Count rows whose encryption key is not known, and name them by their `ids` in one event of the log."""
    if ids:
        metrics.unreadable_rows.inc(len(ids))
        logger.warning("storage.unreadable kind=%s rows=%d ids=%s", kind, len(ids), ",".join(map(str, ids[:MAX_NAMED])))


class FieldSealer:
    """Splits a text into the two columns it has, a plain one and a sealed one, of which one is NULL.

    Rows from before there was a key stay readable, and so do sealed ones while their key is known.
    """

    def __init__(self, keys: KeyProvider | None) -> None:
        """Seal under the current key of `keys`; nothing without."""
        self._keys = keys

    @property
    def seals(self) -> bool:
        """Whether there is a key."""
        return self._keys is not None

    def split(self, text: str, *belongs_to: str) -> tuple[str | None, bytes | None]:
        """Return the plain and the sealed column. What the field `belongs_to` has to be given to `join` again."""
        if self._keys is None:
            return text, None
        return None, seal(text.encode(), associate(*belongs_to), self._keys)

    def join(self, plain: str | None, sealed: bytes | None, *belongs_to: str) -> str:
        """Return the text of the two columns.

        Raises:
            EncryptionError: It is sealed, and its key is not known, or it was moved here from another row.
        """
        if sealed is None:
            return plain or ""
        if self._keys is None:
            raise EncryptionError(
                "The database holds sealed texts. Set DISCREET_ENCRYPTION_KEYS to the keys that they were sealed under."
            )
        return unseal(sealed, associate(*belongs_to), self._keys).decode()

"""Seal the fields of a row that hold what a person said, where there is a key."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from discreet import metrics
from discreet.encryption import Column, seal, unseal
from discreet.errors import EncryptionError
from discreet.ports import KeyProvider
from discreet.storage.database.sealed_columns import SealedColumn

logger = logging.getLogger(__name__)

NOT_SEALED = "The database holds a text that is not sealed, though there is a key: it was stored before, or written past Discreet. `discreet doctor` says what to do."

MAX_NAMED = 20
"""Rows in one event of the log."""


def report_unreadable(kind: str, ids: Sequence[object]) -> None:
    """Count rows that can't be opened, and name them by their `ids` in one event of the log."""
    if ids:
        metrics.unreadable_rows.inc(len(ids))
        logger.warning("storage.unreadable kind=%s rows=%d ids=%s", kind, len(ids), ",".join(map(str, ids[:MAX_NAMED])))


@contextmanager
def reported(kind: str, key: object) -> Iterator[None]:
    """Report a row of this key if what is done with it raises `EncryptionError`, which passes."""
    try:
        yield
    except EncryptionError:
        report_unreadable(kind, [key])
        raise


class FieldSealer:
    """Splits a text into the two columns it has, a plain one and a sealed one, of which one is NULL.

    Where there is a key, only what is sealed is read: whoever writes to the database could put anything in the plain column.
    What lies there from before the key is unreadable until `discreet rekey --seal-plain` has sealed it.
    """

    def __init__(self, keys: KeyProvider | None) -> None:
        """Seal under the current key of `keys`; nothing without."""
        self._keys = keys

    @property
    def seals(self) -> bool:
        """Whether there is a key."""
        return self._keys is not None

    def split(self, text: str, column: Column, *row: str | UUID | bytes) -> tuple[str | None, bytes | None]:
        """Return what the plain and the sealed column hold. `column` and the key of its `row` have to be given to `join` again."""
        if self._keys is None:
            return text, None
        return None, seal(text.encode(), column.of(*row), self._keys)

    def split_json(
        self, value: Any, column: SealedColumn, *row: str | UUID | bytes
    ) -> tuple[Jsonb | None, bytes | None]:
        """Do the same with what is JSON. There is nothing to seal in a list or an object without anything in it, nor to keep."""
        if not value:
            return None if column.empty is None else Jsonb(value), None
        if self._keys is None:
            return Jsonb(value), None
        _, sealed = self.split(json.dumps(value, ensure_ascii=False), column, *row)
        return None if column.empty is None else Jsonb(json.loads(column.empty)), sealed

    def join_json(self, plain: Any, sealed: bytes | None, column: SealedColumn, *row: str | UUID | bytes) -> Any:
        """Do as `join` with the columns of `split_json`. A value that was never there reads as it is stored: NULL, or empty."""
        is_absent = sealed is None and plain == column.without_value
        if is_absent or (sealed is None and not self.seals):
            return plain
        return json.loads(self.join(None, sealed, column, *row))

    def join_optional(
        self, plain: str | None, sealed: bytes | None, column: Column, *row: str | UUID | bytes
    ) -> str | None:
        """Do as `join` where a text may never have been there: then both are NULL."""
        return None if plain is None and sealed is None else self.join(plain, sealed, column, *row)

    def join(self, plain: str | None, sealed: bytes | None, column: Column, *row: str | UUID | bytes) -> str:
        """Return the text of the two columns.

        Raises:
            EncryptionError: It is sealed, and its key is not known, or it was moved here from another row, column or table; or it
                is not sealed, and there is a key.
        """
        if sealed is None:
            if self._keys is not None:
                raise EncryptionError(NOT_SEALED)
            return plain or ""
        if self._keys is None:
            raise EncryptionError(
                "The database holds sealed texts. Set DISCREET_ENCRYPTION_KEYS to the keys that they were sealed under."
            )
        return unseal(sealed, column.of(*row), self._keys).decode()

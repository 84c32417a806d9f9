"""What a kind of record is read from, and how far it was read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from discreet.access.user_keys import UserKeys
from discreet.errors import EncryptionError
from discreet.ports import ShortTermStore
from discreet.rights.exporting.format import ExportRecord, UnreadableRow
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.sealing import FieldSealer

KeyPart = str | int
Key = tuple[KeyPart, ...]
"""What a row is found by within its kind. No write changes it, so that a page begins where the one before ended."""

Opened = tuple[Sequence[ExportRecord], Key | None]
"""The records of a page, with what can't be read among them, and the key of the last row; None: there are no more."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Whose data is read, and by what."""

    user_id: str
    user_key: UUID
    keys: UserKeys
    """Of their namespaces."""
    pool: Pool
    sealer: FieldSealer
    short_term: ShortTermStore
    namespaces: Sequence[Sequence[str]] = ()
    """Of the store, that are theirs besides those that bear their identity; with all below each."""
    checkpoint_schema: str | None = None
    """Where the checkpointer's tables are; None: where it finds them itself."""
    vectors: bool = False
    """Whether memories come with theirs."""

    @property
    def parameters(self) -> dict[str, Any]:
        """What statements about this user take."""
        return {"user_key": self.user_key, "pseudonym": self.user_id, "vectors": self.vectors}


class Source(Protocol):
    """Reads one kind, page by page."""

    @property
    def kind(self) -> str:
        """Its name in the format."""
        ...

    @property
    def key_types(self) -> Sequence[type]:
        """What a key consists of, as a reader has it: UUID, str or int."""
        ...

    async def page(self, reading: Reading, after: Key | None, limit: int) -> Opened:
        """Return about `limit` records after a key, or from the first one on.

        Raises:
            StorageError: The database failed.
        """
        ...


def opened(kind: str, key: Key, record: Callable[[], ExportRecord]) -> ExportRecord:
    """Return what `record` makes; if it can't be opened, what says so: one row costs no other."""
    try:
        return record()
    except EncryptionError:
        return unreadable(kind, key)


def unreadable(kind: str, key: Key, code: str = EncryptionError.code) -> UnreadableRow:
    """Return what stands for a row that can't be read."""
    return UnreadableRow(kind=kind, key=list(key), code=code)

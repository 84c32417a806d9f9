"""Make of a source's row what may be stored: whose it is, of which application, where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from discreet.access.sensitive_ids import default_sensitive_ids
from discreet.errors import InvalidRecordError, InvalidUserError, SensitiveIdError
from discreet.importing.source import SourceRow, StoreItem, ThreadState
from discreet.importing.tables import table_of
from discreet.ports import TextRedactor
from discreet.rights.exporting.format import ExportRecord, MemoryRow
from discreet.state.records import MemoryRecord, Provenance, TurnRecord

_IDS: Final = ("request_id", "thread_id", "agent_id", "app_name")

EXPORT: Final = "export"
"""Name of the source whose ids were stored here before, and whose provenance is our own."""

USE_OTHER_IDS: Final = "use ids of your own, or set DISCREET_SENSITIVE_IDS=hash"

USE: Final = "memory_use"
"""Kind of rows that tell how memories were used, once these are there."""


@dataclass(frozen=True, kw_only=True)
class Checker:
    """Checks the rows of one import. What the storage redacts itself is left to it."""

    source: str
    """Name of the source."""
    redactor: TextRedactor
    user_id: str | None = None
    """Whose the rows are that name nobody."""
    app_name: str | None = None
    """Of all rows; None: as the source says."""
    identity_of: Callable[[str], str] = str
    """Returns the user_id of whom the source names."""

    def owner(self, row: SourceRow) -> str:
        """Return whose a row is.

        Raises:
            InvalidRecordError: It names nobody, and nobody is named for those that don't; or nobody can have such a name.
        """
        named = (row.user_id or "").strip()
        if not named and self.user_id is None:
            raise InvalidRecordError("names no user: say whose such rows are (--user)")
        try:
            return default_sensitive_ids().user_id(self.identity_of(named)) if named else str(self.user_id)
        except InvalidUserError:
            raise InvalidRecordError("names a user whose name can't be used") from None
        except SensitiveIdError as error:
            raise InvalidRecordError(f"names a user by a sensitive value ({error.found}): {USE_OTHER_IDS}") from None

    def checked(self, record: MemoryRecord | TurnRecord | StoreItem | ThreadState | ExportRecord) -> Any:
        """Return what is to be stored. May take long.

        Raises:
            InvalidRecordError: An id holds a sensitive value.
        """
        if isinstance(record, (StoreItem, ThreadState)):
            return record
        changed: dict[str, Any] = {}
        if self.app_name is not None and "app_name" in type(record).model_fields:
            changed["app_name"] = self.app_name
        if self.source == EXPORT:
            return record.model_copy(update=changed)
        ids = default_sensitive_ids()
        for name in _IDS:
            value = getattr(record, name, None)
            if isinstance(value, str) and (ids.refuses if name == "thread_id" else ids.found_in)(value):
                raise InvalidRecordError(f"{name} holds a sensitive value: {USE_OTHER_IDS}")
        if isinstance(thread_id := getattr(record, "thread_id", None), str):
            changed["thread_id"] = ids.thread_id(thread_id)
        if isinstance(record, (MemoryRecord, TurnRecord)):
            changed["provenance"] = self._provenance(record.provenance)
        if isinstance(record, MemoryRecord):
            changed["conflict_flags"] = [self._flag(flag) for flag in record.conflict_flags]
        return record.model_copy(update=changed)

    def _provenance(self, given: Provenance) -> Provenance:
        names = ("model", "model_version", "prompt", "source")
        said = {name: self.redactor.redact(text) for name in names if (text := getattr(given, name)) is not None}
        return given.model_copy(update={"source": f"import:{self.source}", **said})

    def _flag(self, flag: str) -> str:
        """Return a flag redacted; one that names an entry stays."""
        try:
            UUID(flag)
        except ValueError:
            return self.redactor.redact(flag)
        return flag


def kind_of(record: object) -> str:
    """Return how the report names a record: a memory by its type."""
    if isinstance(record, MemoryRecord):
        return record.type
    if isinstance(record, MemoryRow):
        return USE
    if (table := table_of(record)) is not None:
        return table.kind
    return "thread" if isinstance(record, ThreadState) else "store_item"

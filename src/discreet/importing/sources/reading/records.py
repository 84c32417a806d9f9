"""Make a memory of fields that are named as a record's or an entry's: from a cell of a table, or from JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID, uuid5

from discreet.importing.sources.reading.rows import UnreadableRowError
from discreet.importing.sources.reading.values import moment, optional_text, parsed, user_of
from discreet.redaction.placeholder_key import keyed_digest
from discreet.state.records import MemoryRecord, Provenance, feedback_of_entry, record_fields, type_of_entry

USER: Final = "user_id"
"""Beside the fields of a record: whose it is."""

FIELDS: Final[frozenset[str]] = frozenset({*MemoryRecord.model_fields, USER})
"""All that a row may say."""

IDS: Final = UUID("b0a4c1de-6a5e-4a8e-9c02-3a7f6c1d5b48")
"""Of ids that are made of others: always the same of the same."""

_SEPARATORS = re.compile(r"[;,|]")


def memory_of(given: Mapping[str, Any], *, source: str) -> tuple[str | None, MemoryRecord]:
    """Return whose a row is, and its memory. Fields may have the names of an entry; what is no field is passed over.

    Raises:
        UnreadableRowError: A field has what none can have.
        InvalidRecordError: The memory can't be stored.
    """
    fields = {
        name: value
        for name, value in record_fields(given).items()
        if name in FIELDS and value is not None and not (isinstance(value, str) and not value.strip())
    }
    user_id = user_of(fields.pop(USER, None))
    values = {name: _READ[name](value, name) if name in _READ else value for name, value in fields.items()}
    values["entry_id"] = _id_of(fields, user_id, source)
    values["type"] = type_of_entry(values.get("type"), values.get("reasoning"))
    return user_id, MemoryRecord(**values)


def _id_of(fields: Mapping[str, Any], user_id: str | None, source: str) -> UUID:
    """Return the id of a row; of one without, an id that rows with the same fields share, and from which nobody can tell them."""
    if (given := optional_text(fields.get("entry_id"), "entry_id")) is not None:
        try:
            return UUID(given)
        except ValueError:
            return uuid5(IDS, f"{source}:{given}")
    said = json.dumps([user_id, fields], sort_keys=True, default=str)
    return UUID(bytes=keyed_digest("import", {"source": source, "row": said}))


def _labels(value: Any, name: str) -> list[Any]:
    """Return a list; of a text its parts, or what it holds as JSON."""
    if isinstance(value, str):
        value = (
            parsed(value, name)
            if value.lstrip().startswith("[")
            else [part for piece in _SEPARATORS.split(value) if (part := piece.strip())]
        )
    if not isinstance(value, list):
        raise UnreadableRowError(f"The {name} is no list.")
    return value


def _feedback(value: Any, name: str) -> list[Any]:
    return feedback_of_entry(parsed(value, name) if isinstance(value, str) else value)


def _provenance(value: Any, name: str) -> Provenance:
    """Return what is known here of where a row comes from; a text that is no JSON says that itself."""
    if isinstance(value, str):
        value = parsed(value, name) if value.lstrip().startswith("{") else {"source": value}
    if not isinstance(value, dict):
        raise UnreadableRowError(f"The {name} is no object.")
    known = {key: part for key, part in value.items() if key in Provenance.model_fields and part is not None}
    return Provenance(**{key: part if key == "turns" else optional_text(part, key) for key, part in known.items()})


def _number(value: Any, name: str) -> Any:
    """Return a number that a cell writes as a text, so that `7.0` is 7."""
    if not isinstance(value, str):
        return value
    try:
        number = float(value)
    except ValueError:
        raise UnreadableRowError(f"The {name} is no number.") from None
    return int(number) if number.is_integer() else number


def _moment(value: Any, name: str) -> Any:
    try:
        return moment(float(value) if isinstance(value, str) else value, name)
    except ValueError as error:  # of float(): a date, then
        if isinstance(error, UnreadableRowError):
            raise
    return moment(value, name)


_READ: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    "tags": _labels,
    "conflict_flags": _labels,
    "feedback": _feedback,
    "provenance": _provenance,
    "importance": _number,
    "confidence": _number,
    "position": _number,
    "created_at": _moment,
    "valid_from": _moment,
    "valid_to": _moment,
    **dict.fromkeys(("request_id", "thread_id", "agent_id", "app_name"), optional_text),
}
"""What reads a field that a record does not take as it is."""

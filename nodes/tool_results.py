"""What stands in the state of a tool's result: its beginning, redacted; of JSON what is JSON again."""

from __future__ import annotations

import json
from typing import Any, Final

from discreet.ports import TextRedactor
from discreet.redaction.walker import redact_object

MAX_RESULT_CHARS: Final = 1_000
"""Of a tool's result this much stands in the state; redacting 20 kB takes 8 to 23 ms. The model gets all of it."""

MAX_READ_CHARS: Final = 1_000_000
"""A longer result is not read as JSON, which takes 10 ms here."""

CUT: Final = " …"

MARK: Final = "truncated"
"""Key of an object that lacks something; its value is true."""


def shown_result(text: str, redactor: TextRedactor) -> str:
    """Return what is left of `text`: of JSON fewer items, shorter strings and `"truncated": true`; else its beginning."""
    shortened = _shortened(text)
    if shortened is None:
        return redactor.redact(text[:MAX_RESULT_CHARS]) + (CUT if len(text) > MAX_RESULT_CHARS else "")
    shown = redactor.redact(shortened)
    if _read(shown) is not None:
        return shown
    parts = json.dumps(redact_object(_read(shortened), redactor), ensure_ascii=False)  # a number was redacted, say
    return parts if redactor.redact(parts) == parts else shown


def _shortened(text: str) -> str | None:
    """Return `text` within its length; None if it is no JSON."""
    value = _read(text)
    if value is None or len(text) <= MAX_RESULT_CHARS:
        return text if value is not None else None
    cut = _cut(value, MAX_RESULT_CHARS - _size({MARK: True}))
    if isinstance(cut, list):
        cut = [*cut[:-1], {**cut[-1], MARK: True}] if cut and isinstance(cut[-1], dict) else [*cut, CUT.strip()]
    shortened = json.dumps(cut, ensure_ascii=False)
    if len(shortened) <= MAX_RESULT_CHARS:
        return shortened
    return json.dumps({MARK: True} if isinstance(value, dict) else [CUT.strip()])  # it is nested too deeply


def _read(text: str) -> Any:
    """Return the object or array that `text` is; None if it is none."""
    if not text.lstrip().startswith(("{", "[")) or len(text) > MAX_READ_CHARS:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False)) + len(", ")


def _cut(value: Any, room: int) -> Any:
    """Return as much of `value` as `room` characters of JSON hold, about; the shortest members of an object first."""
    if _size(value) <= room:
        return value
    if isinstance(value, str):
        return value[: max(0, room - len(CUT) - 4)] + CUT
    if isinstance(value, list):
        return _cut_list(value, room)
    if isinstance(value, dict):
        return _cut_object(value, room)
    return None


def _cut_list(items: list[Any], room: int) -> list[Any]:
    kept: list[Any] = []
    for item in items:
        room -= _size(item)
        if room < 0:
            break
        kept.append(item)
    return kept or [_cut(item, room + _size(item)) for item in items[:1]]


def _cut_object(members: dict[str, Any], room: int) -> dict[str, Any]:
    room -= _size({MARK: True})
    kept: dict[str, Any] = {}
    for left, key in zip(range(len(members), 0, -1), sorted(members, key=lambda key: _size(members[key])), strict=True):
        share = room // left - _size(key)
        if share > 0:
            kept[key] = _cut(members[key], share)
            room -= _size(key) + _size(kept[key])
    return {**{key: kept[key] for key in members if key in kept}, MARK: True}

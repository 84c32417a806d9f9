"""Read the texts of a NumPy array as LangGraph's msgpack has it, and write it again with others of the same width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from discreet.errors import ScanError
from discreet.scanning.values.foreign import Opaque
from discreet.scanning.values.msgpack import NUMPY, pack, unpack

_PARTS: Final = 4
"""Of the payload: type, shape, order, bytes."""


def is_array(value: Any) -> bool:
    """Return whether a decoded value is an array."""
    return isinstance(value, Opaque) and value.code == NUMPY


def texts_of_array(value: Opaque) -> list[str]:
    """Return the texts of an array; none of one of numbers, or of one that can't be read."""
    found = _array(value)
    return [] if found is None else [_text(item) for item in found[1]]


def array_with(value: Opaque, redact: Callable[[str], str]) -> Opaque:
    """Return an array with each text replaced. What is wider than its items is cut off."""
    found = _array(value)
    if found is None:
        return value
    parts, items = found
    made = items.copy()
    for at, item in enumerate(items):
        text = _text(item)
        if (other := redact(text)) != text:
            made[at] = other if items.dtype.kind == "U" else other.encode()
    if (made == items).all():
        return value
    return Opaque(pack([*parts[:3], made.tobytes()]), NUMPY)


def _array(value: Opaque) -> tuple[list[Any], np.ndarray[Any, Any]] | None:
    """Return the parts of an array, and its items if they are texts."""
    try:
        parts = unpack(value.data)
        if not isinstance(parts, list) or len(parts) != _PARTS or not isinstance(parts[3], bytes):
            return None
        dtype = np.dtype(parts[0])
        return (parts, np.frombuffer(parts[3], dtype)) if dtype.kind in "US" else None
    except (ScanError, ValueError, TypeError):
        return None


def _text(item: Any) -> str:
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)

"""Read a NumPy array as LangGraph's msgpack has it: its texts, or its bytes, and write it again with others of the same width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    _, items = _array(value)
    return [] if items is None else [_text(item) for item in items]


def numbers_of_array(value: Opaque) -> list[int]:
    """Return the items of an array of whole numbers; none of any other."""
    parts, _ = _array(value)
    dtype = None if parts is None else np.dtype(parts[0])
    return [] if parts is None or dtype is None or dtype.kind not in "iu" else np.frombuffer(parts[3], dtype).tolist()


def array_of(value: Opaque, numbers: Sequence[int]) -> Opaque:
    """Return an array of whole numbers with others: as many, with zeros at its end."""
    parts, _ = _array(value)
    assert parts is not None, "of numbers"
    dtype = np.dtype(parts[0])
    size = len(parts[3]) // dtype.itemsize
    return Opaque(pack([*parts[:3], np.array([*numbers, *[0] * size][:size]).astype(dtype).tobytes()]), NUMPY)


def bytes_of_array(value: Opaque) -> bytes:
    """Return the bytes of an array of anything but texts; of one that can't be read those that it is stored as."""
    parts, items = _array(value)
    return b"" if items is not None else value.data if parts is None else parts[3]


def array_with(value: Opaque, redact: Callable[[str], str], blank: Callable[[bytes], bytes] = bytes) -> Opaque:
    """Return an array with each text replaced, or with other bytes, as many. What is wider than its items is cut off."""
    parts, items = _array(value)
    if parts is None:
        return Opaque(blank(value.data), NUMPY)
    if items is None:
        other = blank(parts[3])
        return value if other == parts[3] else Opaque(pack([*parts[:3], other]), NUMPY)
    made = items.copy()
    for at, item in enumerate(items):
        text = _text(item)
        if (new := redact(text)) != text:
            made[at] = new if items.dtype.kind == "U" else new.encode()
    if (made == items).all():
        return value
    return Opaque(pack([*parts[:3], made.tobytes()]), NUMPY)


def fitted(data: bytes, size: int) -> bytes:
    """Return bytes cut off, or filled up with zeros, to a size that something else tells of."""
    return data[:size].ljust(size, b"\0")


def _array(value: Opaque) -> tuple[list[Any] | None, np.ndarray[Any, Any] | None]:
    """Return the parts of an array, and its items if they are texts."""
    try:
        parts = unpack(value.data)
        if not isinstance(parts, list) or len(parts) != _PARTS or not isinstance(parts[3], bytes):
            return None, None
        dtype = np.dtype(parts[0])
        return parts, np.frombuffer(parts[3], dtype) if dtype.kind in "US" else None
    except (ScanError, ValueError, TypeError):
        return None, None


def _text(item: Any) -> str:
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)

"""Decode LangGraph's msgpack into plain data and `Foreign` parts, and encode it again.

LangGraph's serializer writes an object as an extension whose payload is msgpack again: module, class, arguments. Its own
reader imports the module and calls the class. This one does neither.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any, Final

import ormsgpack

from discreet.errors import ScanError
from discreet.scanning.values.foreign import Foreign, Opaque

_READ: Final = ormsgpack.OPT_NON_STR_KEYS
_WRITE: Final = ormsgpack.OPT_NON_STR_KEYS | ormsgpack.OPT_PASSTHROUGH_DATACLASS | ormsgpack.OPT_REPLACE_SURROGATES

MADE: Final = frozenset({0, 1, 2, 3, 4, 5})
"""Extension types of `langgraph.checkpoint.serde.jsonplus` that name a module and a class."""
PYDANTIC: Final = 5
NUMPY: Final = 6
SNAPSHOT: Final = 7
"""The value of a `DeltaChannel`."""

MAX_NESTED: Final = 100
"""Extensions within extensions. Each costs a call from C into Python and back."""

MESSAGES: Final = b"langchain_core.messages"
"""Where messages are from."""
_HEAD: Final = 40
"""Bytes of an object within which its module is named."""

Look = Callable[[bytes], Any]

_MARK_READ: Final = secrets.token_bytes(16)
_MARK: Final = ormsgpack.packb(_MARK_READ)
_PAIR: Final = b"\x92"
"""Begins an array of two values."""

_NAMED: Final = 3
"""Least length of the payload of an object: module, class, argument."""


def unpack(data: bytes, *, depth: int = 0, look: Look | None = None) -> Any:
    """Return the value that all of `data` is: plain data, with `Foreign` and `Opaque` in it.

    `look` is given each message as it is stored, and what it returns stands for it.

    Raises:
        ScanError: It is no msgpack, or is nested too deep.
    """
    if depth > MAX_NESTED:
        raise ScanError("nested too deep")
    try:
        # Its reader stops behind a value, so there has to be another one: a mark that nobody can write down beforehand.
        value, *behind = ormsgpack.unpackb(
            _PAIR + data + _MARK, option=_READ, ext_hook=lambda code, inner: _part(code, inner, depth + 1, look)
        )
    except (ValueError, TypeError, RecursionError) as error:  # ormsgpack.MsgpackDecodeError is a ValueError
        told = str(error).lower()
        raise ScanError(
            "nested too deep" if "recursion" in told or "nested too deep" in told else "no whole msgpack"
        ) from None
    if behind != [_MARK_READ]:
        raise ScanError("no whole msgpack")
    return value


def unpack_message(data: bytes) -> Any:
    """Return the message that `look` was given.

    Raises:
        ScanError: It is no whole one.
    """
    return _part(PYDANTIC, data, 1, None)


def _part(code: int, data: bytes, depth: int, look: Look | None) -> Any:
    if look is not None and code == PYDANTIC and MESSAGES in data[:_HEAD]:
        return look(data)
    if code == SNAPSHOT:
        return Foreign("langgraph.DeltaSnapshot", unpack(data, depth=depth, look=look), code)
    if code in MADE:
        payload = unpack(data, depth=depth, look=look)
        if isinstance(payload, list) and len(payload) >= _NAMED and all(type(each) is str for each in payload[:2]):
            return Foreign(f"{payload[0]}.{payload[1]}", payload[2], code, payload[3:])
    return Opaque(data, code)


def pack(value: Any) -> bytes:
    """Return `value` as msgpack, as LangGraph's serializer writes it."""
    return ormsgpack.packb(value, default=_packed, option=_WRITE)


def _packed(value: Any) -> Any:
    if isinstance(value, Foreign):
        if value.code == SNAPSHOT:
            return ormsgpack.Ext(SNAPSHOT, pack(value.arg))
        module, _, name = value.name.rpartition(".")
        return ormsgpack.Ext(value.code, pack([module, name, value.arg, *value.rest]))
    if isinstance(value, Opaque):
        return value.data if value.code is None else ormsgpack.Ext(value.code, value.data)
    raise TypeError(type(value).__name__)

"""Tell what stored bytes or text are, and decode them: msgpack, JSON, a pickle, plain text, or what is encrypted."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, Literal

from discreet.errors import ScanError
from discreet.scanning.values.foreign import Opaque, Sealed
from discreet.scanning.values.msgpack import Look, pack, unpack
from discreet.scanning.values.pickles import Pickled, read_pickle

MAX_VALUE_BYTES: Final = 32 * 1024 * 1024
"""Of one stored value. Decoded it may take eight times as much."""

MAX_PICKLE_BYTES: Final = 8 * MAX_VALUE_BYTES
"""Of a file of `langgraph dev`, which is one pickle."""

EXACT: Final = "\ue000"
"""Before a number of JSON that is kept as it was written: a character that Unicode leaves to private use."""
_EXACTS: Final = re.compile(rf'"(?:{EXACT}|\\ue000)(-?[0-9][0-9.eE+-]*)"')

Form = Literal["msgpack", "json", "pickle", "text", "bytes", "sealed", "null"]

_PICKLE_PROTOCOLS: Final = range(2, 6)
_CONTAINERS: Final = (b"{", b"[")


@dataclass(slots=True)
class Decoded:
    """A stored value, taken apart."""

    form: Form
    value: Any
    """Plain data, with `Foreign`, `Opaque` and `Sealed` in it; of a pickle a `Pickled`."""


def decode_typed(kind: str | None, data: bytes, *, look: Look | None = None) -> Decoded:
    """Decode bytes that a LangGraph serializer has written as `kind`; for `look` see `unpack`.

    Raises:
        ScanError: They are something else. The message says what is wrong, and nothing of them.
    """
    kind = kind or ""
    _check_size(data, MAX_PICKLE_BYTES if kind == "pickle" else MAX_VALUE_BYTES)
    if "+" in kind:  # LangGraph's EncryptedSerializer names the cipher there
        return Decoded("sealed", Sealed(data))
    if kind in ("null", "empty"):
        return Decoded("null", None)
    if kind == "msgpack":
        return Decoded("msgpack", unpack(data, look=look))
    if kind in _READERS:
        form, read = _READERS[kind]
        return Decoded(form, read(data))
    return _of_bytes(data) if kind in ("bytes", "bytearray") else decode(data)


def decode(data: bytes | str) -> Decoded:
    """Decode what nobody has said the kind of.

    Raises:
        ScanError: It begins like something that it is not. The message says what is wrong, and nothing of it.
    """
    _check_size(data, MAX_VALUE_BYTES)
    if isinstance(data, str):
        if data.lstrip()[:1] in ("{", "["):
            try:
                return Decoded("json", _json(data))
            except ScanError as error:
                if "deep" in str(error):
                    raise
        return Decoded("text", data)
    if data[:1] == b"\x80" and data[1:2] and data[1] in _PICKLE_PROTOCOLS:
        return Decoded("pickle", read_pickle(data))
    return _of_bytes(data)


def _of_bytes(data: bytes) -> Decoded:
    if data.lstrip()[:1] in _CONTAINERS:
        try:
            return Decoded("json", _json(data))
        except ScanError as error:
            if "deep" in str(error):
                raise
    try:
        return Decoded("text", data.decode())
    except UnicodeDecodeError:
        pass
    try:
        value = unpack(data)
    except ScanError:
        return Decoded("bytes", Opaque(data))
    return Decoded("msgpack", value) if isinstance(value, (list, dict)) else Decoded("bytes", Opaque(data))


def encode(decoded: Decoded, *, ascii_only: bool = False) -> bytes:
    """Return what `decoded` was made of: bytes of msgpack, JSON or text. JSON may be `ascii_only`, as it was.

    Raises:
        ScanError: It is of a kind that isn't written here: a pickle is rewritten, and what is sealed stays.
    """
    match decoded.form:
        case "msgpack":
            return pack(decoded.value)
        case "json":
            return _EXACTS.sub(r"\1", json.dumps(decoded.value, ensure_ascii=ascii_only)).encode(
                "utf-8", "surrogatepass"
            )
        case "text":
            return str(decoded.value).encode("utf-8", "surrogatepass")
        case "bytes":
            return bytes(decoded.value.data)
        case _:
            raise ScanError(f"{decoded.form} is not written")


def _check_size(data: bytes | str, most: int) -> None:
    if len(data) > most:
        raise ScanError(f"larger than {most >> 20} MB")


def _json(data: bytes | str) -> Any:
    try:
        return json.loads(data, parse_float=_float, parse_int=_int, object_pairs_hook=_object)
    except RecursionError:
        raise ScanError("nested too deep") from None
    except ValueError:  # UnicodeDecodeError is one
        raise ScanError("no whole JSON") from None


def _float(written: str) -> float | str:
    """Return a number; as a marked text one that Python would write in another way, so that it stays what it is."""
    value = float(written)
    return value if isfinite(value) and repr(value) == written else EXACT + written


def _int(written: str) -> int | str:
    return int(written) if len(written) < sys.int_info.default_max_str_digits else EXACT + written


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a dict. Of a key that is there twice readers know the last value; the others are kept beside it, to be seen."""
    made = dict(pairs)
    if len(made) < len(pairs):
        for number, (key, value) in enumerate(pairs):
            if value is not made[key]:
                made[f"{key} ({number})"] = value
    return made


_READERS: Final[Mapping[str, tuple[Form, Callable[[bytes], Any]]]] = {
    "json": ("json", _json),
    "pickle": ("pickle", read_pickle),
}

__all__ = ["MAX_VALUE_BYTES", "Decoded", "Form", "Pickled", "decode", "decode_typed", "encode"]

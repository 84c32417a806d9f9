"""Tell what stored bytes or text are, and decode them: msgpack, JSON, a pickle, text, what is compressed, media, or what is encrypted.

A guess counts only if all bytes are what it says.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, Literal

from discreet.errors import ScanError
from discreet.redaction.decode import CODECS, text_of
from discreet.scanning.values.foreign import Opaque, Sealed
from discreet.scanning.values.media import is_media
from discreet.scanning.values.msgpack import Look, pack, unpack
from discreet.scanning.values.pickles import Pickled, is_pickle, read_pickle
from discreet.scanning.values.spelled import WIDE
from discreet.scanning.values.streams import Room, Stream, opened

MAX_VALUE_BYTES: Final = 32 * 1024 * 1024
"""Of one stored value. Decoded it may take eight times as much."""

MAX_PICKLE_BYTES: Final = 8 * MAX_VALUE_BYTES
"""Of a file of `langgraph dev`, which is one pickle."""

EXACT: Final = "\ue000"
"""Before a number of JSON that is kept as it was written: a character that Unicode leaves to private use."""
_EXACTS: Final = re.compile(rf'"(?:{EXACT}|\\ue000)(-?[0-9][0-9.eE+-]*)"')

Form = Literal["msgpack", "json", "pickle", "text", "stream", "media", "bytes", "sealed", "null"]

_UTF_8: Final = CODECS[0]
_CONTROLS: Final = re.compile(r"[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""What no text has that somebody wrote, but UTF-16 and numbers have where they are read as text."""


@dataclass(slots=True)
class Decoded:
    """A stored value, taken apart."""

    form: Form
    value: Any
    """Plain data, with `Foreign`, `Opaque` and `Sealed` in it; of a pickle a `Pickled`, of what is compressed a `Stream`."""
    codec: str = _UTF_8
    """Of text and JSON."""


def decode_typed(kind: str | None, data: bytes, *, look: Look | None = None, room: Room | None = None) -> Decoded:
    """Decode bytes that a LangGraph serializer has written as `kind`; for `look` see `unpack`, for `room` `decode`.

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
    return decode(data, room=room)


def decode(data: bytes | str, *, room: Room | None = None) -> Decoded:
    """Decode what nobody has said the kind of. `room` says how much may still be opened of the value that it is a part of.

    Raises:
        ScanError: It is nested too deep, or too large. The message says which, and nothing of it.
    """
    _check_size(data, MAX_VALUE_BYTES)
    if isinstance(data, str):
        return _of_text(data)
    text = _utf_8(data)
    if text is not None and not _CONTROLS.search(text):
        return _of_text(text)
    found = _by_signature(data, room or Room()) or _by_content(data)
    if found is not None:
        return found
    return Decoded("bytes", Opaque(data)) if text is None or "\0" in text else _of_text(text)


def _by_signature(data: bytes, room: Room) -> Decoded | None:
    if is_pickle(data):
        with suppress(ScanError):
            return Decoded("pickle", read_pickle(data))
    if (stream := opened(data, room)) is not None:
        return Decoded("stream", stream)
    return Decoded("media", Opaque(data)) if is_media(data) else None


def _by_content(data: bytes) -> Decoded | None:
    with suppress(ScanError):
        if isinstance(value := unpack(data), (list, dict)):
            return Decoded("msgpack", value)
    for codec in WIDE:
        wide = text_of(data, codec)
        if wide is not None and not _CONTROLS.search(wide):
            return _of_text(wide, codec)
    return None


def _utf_8(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _of_text(text: str, codec: str = _UTF_8) -> Decoded:
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        try:
            return Decoded("json", _json(text), codec)
        except ScanError as error:
            if "deep" in str(error):
                raise
    return Decoded("text", text, codec)


def encode(decoded: Decoded, *, ascii_only: bool = False) -> bytes:
    """Return what `decoded` was made of: bytes of msgpack, JSON or text. JSON may be `ascii_only`, as it was.

    Raises:
        ScanError: It is of a kind that isn't written here: a pickle is rewritten, and what is sealed stays.
    """
    match decoded.form:
        case "msgpack":
            return pack(decoded.value)
        case "json":
            written = _EXACTS.sub(r"\1", json.dumps(decoded.value, ensure_ascii=ascii_only))
            return written.encode(decoded.codec, "surrogatepass")
        case "text":
            return str(decoded.value).encode(decoded.codec, "surrogatepass")
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

__all__ = ["MAX_VALUE_BYTES", "Decoded", "Form", "Pickled", "Stream", "decode", "decode_typed", "encode"]

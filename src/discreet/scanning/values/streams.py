"""Open what is compressed, within bounds, and compress it again."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from discreet.errors import ScanError

MAX_OPENED_BYTES: Final = 32 * 1024 * 1024
"""Of all that is compressed in one value."""
_MEMORY: Final = 256 * 1024 * 1024
"""That xz may take to open a stream."""
_ZLIB_CHECK: Final = 31
"""The first two bytes of a zlib stream, read as a number, are a multiple of it (RFC 1950, section 2.2)."""
_NAMED: Final = 0x1C
"""Flags of a gzip header that has a name, a comment or more (RFC 1952, section 2.3.1)."""
_HEAD: Final = 512


class TooLargeError(ScanError):
    """What is compressed is larger than may be opened."""


class Packing(NamedTuple):
    """A way to compress."""

    open: Callable[[], Any]
    pack: Callable[[bytes], bytes]


_PACKINGS: Final = {
    b"\x1f\x8b\x08": Packing(partial(zlib.decompressobj, 31), partial(gzip.compress, mtime=0)),
    b"BZh": Packing(bz2.BZ2Decompressor, bz2.compress),
    b"\xfd7zXZ\0": Packing(partial(lzma.LZMADecompressor, memlimit=_MEMORY), lzma.compress),
}
"""By what a stream begins with."""
_ZLIB: Final = Packing(zlib.decompressobj, zlib.compress)


@dataclass(slots=True)
class Stream:
    """What was compressed."""

    inner: bytes
    packing: Packing
    head: bytes = b""
    """What stands before it in clear, such as the name of a file; it is not written again."""
    tail: bytes = b""
    """What stands behind it."""

    def packed(self, inner: bytes) -> bytes:
        """Return other content, compressed likewise."""
        return self.packing.pack(inner)


class Room:
    """How much may still be opened of one value, however many streams are in it, and within each other."""

    def __init__(self) -> None:
        self.left = MAX_OPENED_BYTES


def is_stream(data: bytes) -> bool:
    """Return whether bytes are compressed."""
    try:
        return opened(data, Room()) is not None
    except TooLargeError:
        return True


def opened(data: bytes, room: Room) -> Stream | None:
    """Return what `data` is when it is opened; None if it doesn't begin with a whole stream.

    Raises:
        TooLargeError: It holds more than there is room for.
    """
    packing = next((each for magic, each in _PACKINGS.items() if data.startswith(magic)), None)
    if packing is None and data[:1] in (b"\x08", b"\x18", b"\x28", b"\x38", b"\x48", b"\x58", b"\x68", b"\x78"):
        packing = _ZLIB if int.from_bytes(data[:2], "big") % _ZLIB_CHECK == 0 else None
    if packing is None:
        return None
    parts: list[bytes] = []
    rest = data
    with suppress(zlib.error, OSError, EOFError, lzma.LZMAError, ValueError):
        while rest:  # streams may follow each other
            reader = packing.open()
            part = _read(reader, rest, room)
            if not reader.eof:
                break
            parts.append(part)
            rest = reader.unused_data
    if not parts:
        return None
    is_named = data[:2] == b"\x1f\x8b" and data[3] & _NAMED
    return Stream(b"".join(parts), packing, data[:_HEAD] if is_named else b"", rest)


def _read(reader: Any, data: bytes, room: Room) -> bytes:
    """Read a stream up to its end, or as far as there is room.

    Raises:
        TooLargeError: There is more.
    """
    made = bytes(reader.decompress(data, room.left + 1))
    if len(made) > room.left:
        raise TooLargeError(f"larger than {MAX_OPENED_BYTES >> 20} MB when it is opened")
    room.left -= len(made)
    return made

"""Know pictures, recordings and files by their signatures, and look at what they say of themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import filetype

from discreet.errors import ScanError
from discreet.scanning.values.streams import Room, opened

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_PIXELS: Final = frozenset({b"IDAT", b"fdAT"})
_CHUNK: Final = 12
"""Bytes of a chunk beside its content: length, type, check."""

_BEGINNING: Final = 64
_LEAST_GREATEST: Final = 32
"""Of the first bytes of media: an icon and a font begin with zeros and ones, as masks and small counts in bytes do."""


def is_media(data: bytes) -> bool:
    """Return whether bytes begin as a picture, a recording, a document or an archive does."""
    return max(data[:_BEGINNING], default=0) >= _LEAST_GREATEST and filetype.guess(data[:8192]) is not None


def said_in(data: bytes, room: Room) -> Iterator[bytes]:
    """Yield the parts of media in which there may be something to read: all, but for the pixels of a PNG."""
    chunks = list(_chunks(data))
    if not chunks:
        yield data
    for kind, content in chunks:
        if kind not in _PIXELS:
            yield from _of_chunk(content, room)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield type and content of the chunks of a PNG; what stands behind the last one has no type. Of other media nothing."""
    at = len(_SIGNATURE) if data.startswith(_SIGNATURE) else len(data)
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        kind, end = data[at + 4 : at + 8], at + _CHUNK + size
        if end > len(data) or not kind.isalpha():
            yield b"", data[at:]
            return
        yield kind, data[at + 8 : end - 4]
        at = end


def _of_chunk(content: bytes, room: Room) -> Iterator[bytes]:
    """Yield the content of a chunk, and what is compressed in it: behind a name and one more sign, or more of each."""
    yield content
    at = content.find(b"\0")
    while 0 <= at < min(len(content), 200):
        with suppress(ScanError):
            if (stream := opened(content[at:], room)) is not None:
                yield stream.inner
                return
        at += 1

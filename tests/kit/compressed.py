"""What is in the zlib streams of a file or a row."""

from __future__ import annotations

import re
import zlib
from typing import Final

HEADER: Final = re.compile(rb"\x78[\x01\x5e\x9c\xda]")
"""Of a stream with the usual window, by its four levels (RFC 1950, section 2.2)."""
PIECE: Final = 512
"""Bytes that are read at once: what stands before the first piece that can't be read is found."""
FEWEST: Final = 16
"""Bytes: with fewer, two bytes that look like a header were none."""


def inflated(data: bytes) -> bytes:
    """Return what all streams in `data` hold, as far as they can be read; each ends with a zero."""
    return b"".join(
        text + b"\0" for match in HEADER.finditer(data) if len(text := _inflated(data, match.start())) >= FEWEST
    )


def _inflated(data: bytes, at: int) -> bytes:
    reader, parts = zlib.decompressobj(), list[bytes]()
    try:
        while not reader.eof and at < len(data):
            parts.append(reader.decompress(data[at : at + PIECE]))
            at += PIECE
    except zlib.error:
        pass  # no stream, or its end is elsewhere
    return b"".join(parts)

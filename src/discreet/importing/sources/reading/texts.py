"""Read files of text some rows at a time, whatever is in them."""

from __future__ import annotations

import asyncio
import codecs
import io
import json
import re
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, TextIO, TypeVar

from discreet.errors import ImportSourceError

T = TypeVar("T")

MAX_ROW: Final = 16_000_000
"""Characters of a row. A memory has 4,000, a reasoning 100,000."""

_PIECE: Final = 65_536
_PAGE: Final = 200
_BOMS: Final = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_ESCAPED = re.compile("[\udc80-\udcff]")
_ENDS: Final = (",", "]", " ", "\t", "\r", "\n")
"""What comes after a value."""
_SPACE = re.compile(r"[ \t\r\n]*")


def open_text(path: Path) -> TextIO:
    """Open a file as UTF-8, or UTF-16 if it says so; bytes that are neither are kept, see `is_text`.

    Raises:
        ImportSourceError: It can't be read.
    """
    try:
        file = path.open("rb")
        head = file.peek(4)
    except OSError as error:
        raise unreadable(error) from None
    encoding = next((name for bom, name in _BOMS if head.startswith(bom)), "utf-8")
    return io.TextIOWrapper(file, encoding=encoding, errors="surrogateescape", newline="")


def is_text(text: str) -> bool:
    """Return whether all of a text that was read so was text."""
    return _ESCAPED.search(text) is None


def bytes_of(text: str) -> bytes:
    """Return what stood in the file."""
    return text.encode("utf-8", "surrogateescape" if not is_text(text) else "surrogatepass")


def unreadable(error: OSError | UnicodeError) -> ImportSourceError:
    """Return what says that the file can't be read."""
    return ImportSourceError(f"The file can't be read ({type(error).__name__}).")


async def paged(rows: Iterator[T]) -> AsyncIterator[T]:
    """Yield what a blocking iterator does, which reads a file in another thread.

    Raises:
        ImportSourceError: It can't be read.
    """
    while page := await asyncio.to_thread(_page, rows):
        for row in page:
            yield row


def _page(rows: Iterator[T]) -> list[T]:
    try:
        return list(islice(rows, _PAGE))
    except (OSError, UnicodeError) as error:
        raise unreadable(error) from None


def elements(file: TextIO) -> Iterator[tuple[str, Any]]:
    """Yield each element of a list of JSON with how it is written, without holding more than one.

    Raises:
        ImportSourceError: It is no list, or breaks off.
    """
    reading = _Reading(file)
    if reading.next() != "[":
        raise ImportSourceError("The file holds no JSON list. For one JSON value a line import it as jsonl.")
    reading.at += 1
    number = 0
    if reading.next() != "]":
        while True:
            reading.next()
            yield reading.value(number)
            number += 1
            if (mark := reading.next()) == "]":
                break
            if mark != ",":
                raise _broken(number)
            reading.at += 1
    reading.at += 1
    if reading.next():
        raise ImportSourceError(f"After the list of {number:,} the file has something else.")


class _Reading:
    """What of a file is not taken yet."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._decode = json.JSONDecoder().raw_decode
        self._buffer = ""
        self._ended = False
        self.at = 0

    def next(self) -> str:
        """Return the next character that is no space, which is where it is then; nothing at the end."""
        while True:
            found = _SPACE.match(self._buffer, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self._buffer) or self._ended:
                return self._buffer[self.at : self.at + 1]
            self._fill()

    def value(self, number: int) -> tuple[str, Any]:
        while True:
            rest = len(self._buffer) - self.at
            try:
                value, end = self._decode(self._buffer, self.at)
            except (ValueError, RecursionError):  # it may go on behind what was read
                value, end = None, -1
            if end >= 0 and (self._ended or self._buffer[end : end + 1] in _ENDS):  # 1. may become 1.5
                said, self.at = self._buffer[self.at : end], end
                return said, value
            if self._ended or rest > MAX_ROW:
                raise _broken(number)
            self._fill(rest)

    def _fill(self, size: int = 0) -> None:
        """Read on: as much again as is there, so that a long element is not tried too often."""
        piece = self._file.read(max(_PIECE, size))
        self._ended = not piece
        self._buffer = self._buffer[self.at :] + piece
        self.at = 0


def _broken(number: int) -> ImportSourceError:
    return ImportSourceError(
        f"The list is no JSON, or breaks off, after {number:,} entries. What stands before is taken."
    )

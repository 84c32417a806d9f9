"""What commands read and write in a pipeline: files or standard input, UTF-8, and readers that go away."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from discreet.errors import InputError, UndecodableInputError

READ_BYTES = 65_536
STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Source:
    """An input that is open."""

    name: str
    """For messages."""
    file: str | None
    """As it was given on the command line; None for standard input that nobody named."""
    stream: BinaryIO

    def text(self) -> Iterator[str]:
        """Yield the text in pieces.

        Raises:
            UndecodableInputError: It is not UTF-8. What stands before was yielded.
        """
        decoder = codecs.getincrementaldecoder("utf-8")()
        done = 0
        while True:
            chunk = self.stream.read1(READ_BYTES) if hasattr(self.stream, "read1") else self.stream.read(READ_BYTES)
            pending = len(decoder.getstate()[0])
            try:
                piece = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                raise UndecodableInputError(self.name, done - pending + error.start) from None  # it holds the text
            yield piece
            done += len(chunk)
            if not chunk:
                return

    def lines(self) -> Iterator[str]:
        """Yield the lines, without what ends them.

        Raises:
            UndecodableInputError: A line is not UTF-8. Those before were yielded.
        """
        done = 0
        for line in self.stream:
            try:
                yield line.decode().rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise UndecodableInputError(self.name, done + error.start) from None  # it holds the line
            done += len(line)


def sources(files: Sequence[str]) -> Iterator[Source]:
    """Yield the files one after the other, each open until the next is asked for; standard input if there are none.

    Raises:
        InputError: A file can't be read.
    """
    for name in files or (None,):
        if name in (None, STANDARD_INPUT):
            with nullcontext(sys.stdin.buffer) as stream:
                yield Source("standard input", name, stream)
            continue
        try:
            opened = Path(name).open("rb")  # noqa: SIM115  # closed below; errors while it is read are not ours
        except OSError as error:
            raise InputError(f"{name} can't be read: {error.strerror}.") from error
        with opened as stream:
            yield Source(name, name, stream)


def write(text: str) -> None:
    """Write `text` to standard output as UTF-8, whatever the locale, and at once."""
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


@contextmanager
def quiet_pipe() -> Iterator[None]:
    """End quietly when whoever reads standard output has gone, as `head` does."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains when it flushes at exit

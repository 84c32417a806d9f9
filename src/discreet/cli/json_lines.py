"""`discreet redact --jsonl`: every string of every line, keys included."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from discreet.cli.piped import Source, quiet_pipe, sources, write
from discreet.cli.redact import configured
from discreet.errors import InvalidJsonLineError
from discreet.redaction.walker import redact_object


def run_redact_lines(files: Sequence[str]) -> None:
    """Print each line of the files, or of standard input, redacted, as soon as it is there. Empty lines stay.

    Raises:
        InputError: A file can't be read, is not UTF-8, or has a line that is not JSON. Lines before it are printed.
    """
    redactor = configured()
    with quiet_pipe():
        for source in sources(files):
            for _, value in values(source):
                redacted = "" if value is None else json.dumps(redact_object(value[0], redactor), ensure_ascii=False)
                write(f"{redacted}\n")


def values(source: Source) -> Iterator[tuple[int, tuple[Any] | None]]:
    """Yield the number of each line, from 1 on, and its value in a tuple; None for an empty line.

    Raises:
        InputError: A line is not UTF-8 or not JSON. Those before it were yielded.
    """
    for number, line in enumerate(source.lines(), 1):
        if not line.strip():
            yield number, None
            continue
        try:
            value = json.loads(line.removeprefix("\ufeff") if number == 1 else line)
        except (
            ValueError,
            RecursionError,
        ):  # besides bad syntax: an integer, or a nesting, that is too large for Python
            raise InvalidJsonLineError(source.name, number) from None  # the error holds the line
        yield number, (value,)

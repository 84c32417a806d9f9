"""Counts what goes over the wire to PostgreSQL, by libpq's own trace of each connection (PQtrace; Linux only)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import psycopg

_MESSAGE = re.compile(r'^([FB])\t\d+\t(\w+)(?:\t "(BEGIN|COMMIT))?', re.MULTILINE)


class Traffic(NamedTuple):
    """What was sent on all connections."""

    statements: int
    """BEGIN and COMMIT are not counted."""
    round_trips: int
    """How often something was sent after an answer."""


@contextmanager
def traced(folder: Path) -> Iterator[None]:
    """Write what each new async connection sends and gets to a file of its own in `folder`."""
    untraced, numbers = psycopg.AsyncConnection.__dict__["connect"], count()

    async def connect(kind: type[Any], *args: Any, **options: Any) -> Any:
        connection = await untraced.__get__(None, kind)(*args, **options)
        file = opened.enter_context((folder / str(next(numbers))).open("w"))
        connection.pgconn.trace(file.fileno())
        connection.pgconn.set_trace_flags(psycopg.pq.Trace.SUPPRESS_TIMESTAMPS)
        return connection

    with ExitStack() as opened, patch.object(psycopg.AsyncConnection, "connect", classmethod(connect)):
        yield


def traffic(folder: Path) -> Traffic:
    """Return what was sent so far."""
    statements = round_trips = 0
    for file in folder.iterdir():
        answered = True
        for way, message, frame in _MESSAGE.findall(file.read_text(errors="replace")):
            round_trips += answered and way == "F"
            statements += way == "F" and message in ("Execute", "Query") and not frame
            answered = way == "B"
    return Traffic(statements, round_trips)

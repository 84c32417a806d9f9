"""Requests and replies, without a socket."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.testing.batch_shelf import Outcome


@dataclass(frozen=True)
class Request:
    """One request, below the address of its protocol."""

    method: str
    path: tuple[str, ...]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes = field(repr=False)
    project: str
    """That the key belongs to."""
    origin: str
    """Address of the protocol."""

    def json(self) -> Any:
        """Return the body."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """What is answered: one JSON value, or the pieces of a file."""

    body: object = None
    pieces: Iterator[bytes] | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    is_batch: bool = False
    """Whether it tells the id of a batch that was taken."""


def line(value: object) -> bytes:
    """Return `value` as one line of JSON, with what it has of other scripts as it is."""
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def tokens(outcome: Outcome) -> tuple[int, int]:
    """Return what a prompt and its answer are said to have cost."""
    return 100, len(outcome.text.split())

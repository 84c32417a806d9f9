"""Batches as a provider keeps them, with a script of what goes wrong: behind the server, and behind the fake in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any, Literal

End = Literal["completed", "expired", "cancelled", "failed"]

OK = 200
FILLER = "filler-"
"""The custom ids of results that nobody asked for, which make a file as large as a test wants it, begin with it."""
_FILLING = "x" * 60_000


@dataclass(kw_only=True)
class BatchScript:
    """What happens to requests and batches. It may be changed at any time; the numbers of requests count down.

    Keys, malformed lines and sizes are for the server: the fake in memory has none.
    """

    polls: int = 0
    """How often somebody sees a batch running before it ends."""
    ends: End = "completed"
    """How batches end. One that is `failed` was refused as a whole, and has no results."""
    answered: int = 0
    """How many prompts of a batch have their answer when it ends before its time."""
    failing: Mapping[str, int] = field(default_factory=dict)
    """HTTP status by custom id."""

    overloaded: int = 0
    """How many of the next requests are answered with 429."""
    retry_after: float = 0.01
    """Seconds that those ask to wait."""
    broken: int = 0
    """How many of the next requests are answered with 500."""
    lost: int = 0
    """How many of the next batches are taken without an answer: the connection is dropped."""
    dropped: int = 0
    """How many of the next results break off after their first line."""
    refused: frozenset[str] = frozenset()
    """Keys that are not valid."""
    projects: Mapping[str, str] = field(default_factory=dict)
    """Project by key. What was made in one isn't there for the others; keys without one share theirs."""

    shuffled: bool = False
    duplicated: bool = False
    """Every result comes twice."""
    malformed: int = 0
    """Lines among the results that are no JSON, or not of that shape."""
    truncated: int = 0
    """Bytes that are missing at the end of the results."""
    bytes: int = 0
    """How large the results are made, by further results that are made as they are read."""


@dataclass(frozen=True)
class Outcome:
    """What became of one prompt."""

    custom_id: str
    end: End
    text: str = ""
    status: int = OK


@dataclass(kw_only=True, eq=False)
class StoredBatch:
    """A batch, with what happened to it."""

    id: str
    job: str = ""
    """As it was named by who submitted it; empty where the provider takes no name."""
    model: str = ""
    prompts: Sequence[tuple[str, str]] = field(repr=False)
    """custom_id and data of each."""
    sent: Sequence[Any] = field(default=(), repr=False)
    """The requests as they arrived."""
    project: str = ""
    input_file: str | None = None
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    polls: int = 0
    end: End | None = None
    """How it ended; None while it runs."""
    is_cancelled: bool = False
    read: int = 0
    """How often its results were read to their end."""
    deleted: bool = False
    """Whether its texts are gone."""
    forgotten: bool = False
    """Whether nobody knows its id any more."""


class BatchShelf:
    """Keeps batches and files, and makes the results when they are read. Threads may share one."""

    def __init__(self, answer: Callable[[str], str], script: BatchScript | None = None) -> None:
        """Answer prompts by `answer`, a function of their data."""
        self.answer = answer
        self.script = script or BatchScript()
        self.batches: list[StoredBatch] = []
        """Oldest first, deleted ones too."""
        self.files: dict[str, bytes] = {}
        """What was uploaded and not deleted."""
        self.names: dict[str, str] = {}
        """Names of all files that were uploaded."""
        self._lock = threading.RLock()

    def put(self, prefix: str, prompts: Sequence[tuple[str, str]], **known: Any) -> StoredBatch:
        """Take a batch; `known` are further fields of it."""
        with self._lock:
            batch = StoredBatch(id=f"{prefix}{len(self.batches) + 1:04}", prompts=list(prompts), **known)
            self.batches.append(batch)
            return batch

    def upload(self, prefix: str, name: str, content: bytes) -> str:
        """Take a file and return its id."""
        with self._lock:
            file_id = f"{prefix}{len(self.names) + 1:04}"
            self.names[file_id] = name
            self.files[file_id] = content
            return file_id

    def find(self, batch_id: str, project: str = "") -> StoredBatch | None:
        """Return a batch of the project that is not forgotten."""
        return next((each for each in self.of(project) if each.id == batch_id), None)

    def of(self, project: str) -> list[StoredBatch]:
        """Return the batches of a project, newest first."""
        with self._lock:
            return [each for each in reversed(self.batches) if each.project == project and not each.forgotten]

    def look(self, batch: StoredBatch) -> StoredBatch:
        """Let somebody look at a batch, which is how its time passes."""
        with self._lock:
            batch.polls += 1
            if batch.end is None and (batch.is_cancelled or batch.polls > self.script.polls):
                batch.end = "cancelled" if batch.is_cancelled else self.script.ends
        return batch

    def remove(self, batch: StoredBatch) -> None:
        """Forget a batch with all that is in it."""
        batch.deleted = batch.forgotten = True

    def lose(self) -> None:
        """Forget all batches and files, as a provider does after some time."""
        with self._lock:
            self.files.clear()
            for batch in self.batches:
                self.remove(batch)

    def next(self, what: Literal["overloaded", "broken", "lost", "dropped"]) -> bool:
        """Whether this fails now; one less will."""
        with self._lock:
            left: int = getattr(self.script, what)
            setattr(self.script, what, max(0, left - 1))
            return left > 0

    def outcomes(self, batch: StoredBatch) -> Iterator[Outcome]:
        """Yield what became of the prompts."""
        if batch.end is None or batch.end == "failed":
            return
        prompts = list(enumerate(batch.prompts))
        if self.script.shuffled:
            Random(len(prompts)).shuffle(prompts)  # noqa: S311  # an order, no secret
        for number, (custom_id, data) in prompts:
            status = self.script.failing.get(custom_id, OK)
            if batch.end != "completed" and number >= self.script.answered:
                outcome = Outcome(custom_id, batch.end)
            elif status != OK:
                outcome = Outcome(custom_id, "failed", status=status)
            else:
                outcome = Outcome(custom_id, "completed", self.answer(data))
            yield from [outcome] * (2 if self.script.duplicated else 1)

    def lines(self, batch: StoredBatch, encode: Callable[[Outcome], bytes]) -> Iterator[bytes]:
        """Yield the results as lines, with what the script adds to them and takes from them."""
        kept = b""
        for line in self._lines(batch, encode):
            yield kept
            kept = line
        yield kept[: len(kept) - self.script.truncated] if self.script.truncated else kept
        batch.read += 1

    def _lines(self, batch: StoredBatch, encode: Callable[[Outcome], bytes]) -> Iterator[bytes]:
        size = 0
        for number in range(self.script.malformed):
            yield (b'{"half": ', b"null", b"\xff\xfe", b'{"custom_id": 1, "key": 2}', b"[]")[number % 5] + b"\n"
        for outcome in self.outcomes(batch):
            line = encode(outcome)
            size += len(line)
            yield line
        number = 0
        while size < self.script.bytes:
            line = encode(Outcome(f"{FILLER}{number}", "completed", _FILLING))
            size, number = size + len(line), number + 1
            yield line

    def lying(self) -> list[str]:
        """Return the ids of batches and files whose texts still lie there."""
        return [*self.files, *(batch.id for batch in self.batches if not batch.deleted)]

    def unread(self) -> list[str]:
        """Return the ids of batches that were paid for, and whose results nobody has read."""
        return [batch.id for batch in self.batches if not batch.read and not batch.is_cancelled]

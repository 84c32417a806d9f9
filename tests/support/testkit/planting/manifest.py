"""Keep the book of what was planted where."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kit.sentences import FOUND_AS, HARMLESS, LANGUAGES, PLAIN_TYPES, SAID, TYPES
from kit.values import Chance

MOST_OF_A_BOOK = 300
"""Serial numbers that are set apart for one book. All numbers of 20,000 books are less than what `Chance.number` tells apart."""

POSTGRES = {
    "blobs": "checkpoint_blobs",
    "writes": "checkpoint_writes",
    "checkpoint": "checkpoints",
    "metadata": "checkpoints",
}
SQLITE = {"blobs": "checkpoints", "writes": "writes", "checkpoint": "checkpoints", "metadata": "checkpoints"}
DEV = {
    "blobs": ".langgraph_checkpoint.3.pckl",
    "writes": ".langgraph_checkpoint.2.pckl",
    "checkpoint": ".langgraph_checkpoint.3.pckl",
    "metadata": ".langgraph_checkpoint.1.pckl",
}
"""Where a saver keeps what: values of channels, pending writes, channels of text alone, metadata."""


@dataclass(frozen=True)
class Planted:
    """One value, and where it must be found at least once."""

    value: str
    type: str
    shape: str
    tables: list[str]
    thread_id: str | None
    encrypted: bool = False
    stored_hex: str | None = None
    """The bytes that stand for it, where these are not its UTF-8: base64, UTF-32 of numpy."""
    kind: str = "value"


@dataclass(frozen=True)
class Harmless:
    """Text with numbers that must not be reported."""

    text: str
    tables: list[str]
    thread_id: str | None
    encrypted: bool = False
    kind: str = "harmless"


@dataclass(frozen=True)
class Thread:
    """A thread of a saver, and how to go on with it: `continue_thread(graph, saver, thread_id)`."""

    thread_id: str
    graph: str
    saver: str
    """`postgres`, `pickling`, `encrypting`, `shallow`, `sqlite` or `dev`: see `savers.serializer`."""
    state: str
    """`over`, `paused` or `failed`."""
    messages: int
    kind: str = "thread"


Entry = Planted | Harmless | Thread


@dataclass
class Book:
    """What was planted in one thread, or in one table beside the threads.

    `number` is the book's own: no value of it is in a book of another number or seed.
    """

    number: int
    seed: int
    tables: Mapping[str, str] = field(default_factory=lambda: POSTGRES)
    thread_id: str | None = None
    encrypted: bool = False
    stepwise: bool = True
    """Whether each step is saved, and so the writes of it are."""
    entries: list[Entry] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(f"{self.seed}:{self.number}")
        self._next = self.number * MOST_OF_A_BOOK

    def plain(self, shape: str, *places: str, types: Sequence[str] = PLAIN_TYPES) -> str:
        """Return a value without any word beside it."""
        kind = self.random.choice(types)
        made, _ = SAID[kind][self.random.choice(LANGUAGES)]
        return self.keep(made(self.chance()), kind, shape, *places)

    def said(self, shape: str, *places: str, types: Sequence[str] = TYPES) -> str:
        """Return a value in a sentence of one of the languages, often with a harmless one after it."""
        kind = self.random.choice(types)
        made, sentence = SAID[kind][self.random.choice(LANGUAGES)]
        text = sentence.format(self.keep(made(self.chance()), kind, shape, *places))
        return f"{text}\n{self.harmless(*places)}" if self.random.random() < 0.5 else text

    def harmless(self, *places: str) -> str:
        """Return a sentence that nobody should report."""
        text = self.random.choice(HARMLESS)(self.chance())
        self.entries.append(Harmless(text, self._tables(places), self.thread_id, self._encrypted(places)))
        return text

    def keep(self, value: str, kind: str, shape: str, *places: str, stored: bytes | None = None) -> str:
        """Write down a value that is made already; return it. `places` are keys of `tables`, by default `blobs`."""
        self.entries.append(
            Planted(
                value=value,
                type=FOUND_AS.get(kind, kind),
                shape=shape,
                tables=self._tables(places),
                thread_id=self.thread_id,
                encrypted=self._encrypted(places),
                stored_hex=None if stored is None else stored.hex(),
            )
        )
        return value

    def chance(self) -> Chance:
        """Return chance with the next serial number.

        Raises:
            OverflowError: The numbers of this book are used up.
        """
        if self._next >= (self.number + 1) * MOST_OF_A_BOOK:
            raise OverflowError(f"More than {MOST_OF_A_BOOK} values in one book.")
        self._next += 1
        return Chance(self._next + self.seed % 97 * 100_003, self.random)

    def _encrypted(self, places: tuple[str, ...]) -> bool:
        """Return whether a serializer that encrypts sees it: ids, metadata and channels of text alone are kept in clear."""
        return self.encrypted and not {"metadata", "checkpoint"} & set(places)

    def _tables(self, places: tuple[str, ...]) -> list[str]:
        kept = [place for place in places or ("blobs",) if self.stepwise or place != "writes"]
        return list(dict.fromkeys(self.tables.get(place, place) for place in kept or ("blobs",)))


def write_manifest(path: Path, entries: Iterable[Entry]) -> None:
    """Write `entries` as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        for entry in entries:
            file.write(json.dumps(asdict(entry), ensure_ascii=False) + "\n")


def read_manifest(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a manifest."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]

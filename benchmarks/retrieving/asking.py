"""Store people's memories in a database and ask it in several ways."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from retrieving.measures import DEEPEST, Judged, judge
from retrieving.sets import Person, Question

from discreet.ports import EmbeddingProvider
from discreet.redaction.configured import default_redactor
from discreet.retrieval.embedded_question import embedded_question
from discreet.retrieval.fusion import FUSIONS
from discreet.retrieval.tokens import tokens
from discreet.settings import Settings
from discreet.storage import Storage, open_storage
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.memories.memories import PostgresMemories
from discreet.storage.memories.search import arrange

WAYS: Final[Mapping[str, str]] = {
    "words": "fused AS (SELECT *, words AS score FROM candidates WHERE words > 0)",
    "meaning": "fused AS (SELECT *, cosine AS score FROM candidates)",
    **FUSIONS,
}
"""Each way to order the same candidates, as the common table expression that a search has for it."""

IMPOSSIBLE = 1.0
"""A threshold that no other text passes: only memories with a word of the question are found."""


@dataclass(frozen=True)
class Top:
    """What was found for one question, best first."""

    person: str
    category: str
    hits: list[tuple[float, bool]]
    """Score, and whether it answers the question."""


class Asked:
    """A database with the memories of `people`."""

    def __init__(self, storage: Storage, people: Sequence[Person], embeddings: EmbeddingProvider) -> None:
        assert isinstance(storage.memories, PostgresMemories)
        self._memories = storage.memories
        self._pool: Pool = storage.pool
        self._key_of = storage.background.key_of
        self._embeddings = embeddings
        self._people = people

    async def lists(self, way: str, **parameters: float) -> list[Judged]:
        """Return how well each question is answered in `way`; `parameters` replace those of the search."""
        return [
            Judged(
                person.name,
                question.category,
                judge(await self._found(person, question, way, parameters), question.answers),
            )
            for person in self._people
            for question in person.questions
            if question.answers
        ]

    async def tops(self) -> list[Top]:
        """Return what a search as the template makes it finds first for each question, and whether that is right."""
        return [
            Top(
                person.name,
                question.category,
                [(hit.score, _number(hit.record.request_id) in question.answers) for hit in hits],
            )
            for person in self._people
            for question in person.questions
            if (hits := await self._memories.search(person.name, question.text))
        ]

    async def empty(self) -> tuple[int, int]:
        """Return how many questions find nothing though a memory has one of their words, and how many have one."""
        redact = default_redactor().redact
        missed = total = 0
        for person in self._people:
            words = {word for memory in person.memories for word in tokens(redact(memory.text))}
            for question in person.questions:
                if words.intersection(tokens(redact(question.text))):
                    total += 1
                    missed += not await self._memories.search(person.name, question.text, threshold=IMPOSSIBLE)
        return missed, total

    async def _found(self, person: Person, question: Question, way: str, parameters: Mapping[str, float]) -> list[int]:
        vector = await self._embeddings.aembed_query(embedded_question(question.text))
        search = await self._memories.plan(self._key_of(person.name), question.text, vector, limit=DEEPEST)
        statement = search.statement.replace(FUSIONS["convex"].strip(), WAYS[way].strip())
        async with self._pool.connection() as connection:
            cursor = await connection.execute(statement, {**search.parameters, **parameters})
            return [_number(row["request_id"]) for row in arrange(await cursor.fetchall(), DEEPEST)]


@asynccontextmanager
async def asking(people: Iterable[Person], embeddings: EmbeddingProvider) -> AsyncIterator[Asked]:
    """Yield a new database on a server of its own that holds the memories of `people`."""
    people = [_numbered(person) for person in people]
    with TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder))
        # without the sweep, since the conversations are of 2023
        async with open_storage(settings=settings, embeddings=embeddings, maintained=False) as storage:
            for person in people:
                await storage.memories.save(person.name, person.memories)
            yield Asked(storage, people, embeddings)


def _numbered(person: Person) -> Person:
    memories = [memory.model_copy(update={"request_id": f"memory {n}"}) for n, memory in enumerate(person.memories)]
    return replace(person, memories=memories)


def _number(request_id: str | None) -> int:
    found = re.fullmatch(r"memory (\d+)", request_id or "")
    assert found is not None
    return int(found[1])

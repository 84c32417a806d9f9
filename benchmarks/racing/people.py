"""Whose memories are searched: invented people with texts, vectors and questions, the same in every run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from comparing.texts import Texts
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from discreet.ports import Calibration

TOPICS = 20
"""Things that one person speaks of. They are that person's own: a graph index over all people then finds mostly the
right one's rows and keeps its recall, which is the best that the peers can hope for."""
SPREAD = 0.7
"""Length of what sets a memory apart from its topic, whose length is 1: memories of one topic have a cosine of 0.67."""
QUESTION_SPREAD = 0.35
"""Length of what sets a question apart from the memory that it asks for."""
TEXT_CHARS = 110
"""About 19 words, as LoCoMo's turns have."""
QUESTION_WORDS = 4
"""Words that a question shares with the memory that it asks for."""

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Person:
    """One person's memories."""

    user_id: str
    texts: list[str]
    vectors: Vectors
    """One row of unit length a text."""

    def nearest(self, vector: Vectors, limit: int) -> set[str]:
        """Return the texts nearest to `vector`, by comparing all."""
        return {self.texts[row] for row in np.argsort(-(self.vectors @ vector))[:limit]}


def make_person(number: int, *, memories: int, dims: int) -> Person:
    """Return person `number`."""
    random = np.random.default_rng((number, dims))
    topics = _unit(random.standard_normal((TOPICS, dims), dtype=np.float32))
    apart = random.standard_normal((memories, dims), dtype=np.float32) * np.float32(SPREAD / dims**0.5)
    vectors = _unit(topics[random.integers(TOPICS, size=memories)] + apart)
    said = Texts(number)
    return Person(f"user{number}", [said.prose(TEXT_CHARS) for _ in range(memories)], vectors)


class Lookup(Embeddings):
    """An embedding that was made before: a dict from text to vector. Serves both sides, so that neither pays for it."""

    calibration = Calibration(zero=0.0, one=1.0)

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self.name = f"bench:lookup:{dims}"
        self._vectors: dict[str, list[float]] = {}

    def add(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Know the vectors of `texts`."""
        self._vectors.update(zip(texts, vectors.tolist(), strict=True))

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of `text`; of one that redaction has changed, any vector."""
        vector = self._vectors.get(text)
        return next(iter(self._vectors.values())) if vector is None else vector

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of `texts`."""
        return list(map(self.embed_query, texts))

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of `text`, without the thread that LangChain's default would use."""
        return self.embed_query(text)

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of `texts`."""
        return self.embed_documents(texts)


@dataclass(frozen=True)
class Question:
    """A question with its exact answer."""

    user_id: str
    text: str
    wordless: str
    """Has the same vector and no word that any memory has: a hybrid search then answers by vectors alone."""
    nearest: set[str]
    """Texts of the five nearest memories."""


def make_questions(person: Person, count: int, embeddings: Lookup) -> list[Question]:
    """Return questions to `person`, whose vectors `embeddings` then knows."""
    random = np.random.default_rng((len(person.texts), *person.user_id.encode()))
    questions = []
    for number, row in enumerate(random.integers(len(person.texts), size=count)):
        dims = person.vectors.shape[1]
        apart = random.standard_normal(dims, dtype=np.float32) * np.float32(QUESTION_SPREAD / dims**0.5)
        vector = _unit(person.vectors[row] + apart)
        text = f"{' '.join(person.texts[row].rstrip('.').split()[:QUESTION_WORDS])} {number}?"
        wordless = f"{person.user_id}x{number}"
        embeddings.add([text, wordless], np.stack([vector, vector]))
        questions.append(Question(person.user_id, text, wordless, person.nearest(vector, 5)))
    return questions


def _unit(vectors: Vectors) -> Vectors:
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit

"""Save the older and the newer fact of each update, ask the question that both answer, and see which is found first."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from discreet.ports import EmbeddingProvider
from discreet.state.records import MemoryFilters, MemoryRecord
from discreet.storage import Storage, open_storage
from discreet.storage.embedded import lease_server

MARCH, MAY, JUNE = (datetime(2026, month, 1, tzinfo=UTC) for month in (3, 5, 6))


@dataclass(frozen=True)
class Update:
    """Two facts of which the newer replaces the older, and what both answer."""

    language: str
    part: str
    old: str
    new: str
    question: str


@dataclass(frozen=True)
class Outcome:
    """What a search says after both were saved."""

    update: Update
    newer_first: bool
    """The newer one is found, and above the older one if that is found at all."""
    older_as_of_then: bool
    """A search as of a time between the two finds the older one and not the newer."""


class _Remembering:
    """An embedding model that looks up the vectors of facts which were embedded before."""

    def __init__(self, model: EmbeddingProvider, vectors: Mapping[str, np.ndarray]) -> None:
        self.name, self.dims, self.calibration = model.name, model.dims, model.calibration
        self.embed_query, self.aembed_query = model.embed_query, model.aembed_query
        self._vectors = vectors

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vectors[text].tolist() for text in texts]

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return self.embed_documents(texts)


class _Plain:
    """No redactor: the facts are made up, and their vectors are looked up by what was written."""

    def redact(self, text: str) -> str:
        return text


def rank(updates: Iterable[Update], model: EmbeddingProvider, vectors: Mapping[str, np.ndarray]) -> list[Outcome]:
    """Return what became of each update, each saved for a user of its own in a new database."""
    with TemporaryDirectory() as folder, lease_server(Path(folder)) as dsn:
        return asyncio.run(_rank_all(dsn, list(updates), _Remembering(model, vectors)))


async def _rank_all(dsn: str, updates: Sequence[Update], model: EmbeddingProvider) -> list[Outcome]:
    async with open_storage(dsn, embeddings=model, redactor=_Plain()) as storage:
        return [await _rank_one(storage, f"user {n}", update) for n, update in enumerate(updates)]


async def _rank_one(storage: Storage, user_id: str, update: Update) -> Outcome:
    memories = storage.memories
    await memories.save(user_id, [MemoryRecord(text=update.old, created_at=MARCH)])
    await memories.save(user_id, [MemoryRecord(text=update.new, created_at=JUNE)])
    now = [hit.record.text for hit in await memories.search(user_id, update.question)]
    then = await memories.search(user_id, update.question, filters=MemoryFilters(as_of=MAY))
    return Outcome(
        update,
        newer_first=now[:1] == [update.new],
        older_as_of_then=[hit.record.text for hit in then] == [update.old],
    )

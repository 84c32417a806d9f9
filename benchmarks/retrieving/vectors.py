"""An embedding provider that keeps its vectors between runs."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from discreet.ports import EmbeddingProvider


class KeptEmbeddings:
    """`provider` with its vectors in a file, under hashes of the texts. Call `keep` at the end."""

    def __init__(self, provider: EmbeddingProvider, folder: Path) -> None:
        self.name = provider.name
        self.dims = provider.dims
        self.calibration = provider.calibration
        self._provider = provider
        self._path = folder / f"{provider.name.replace(':', '-').replace('/', '-')}.npz"
        self._vectors: dict[str, list[float]] = {}
        if self._path.exists():
            with np.load(self._path) as kept:
                self._vectors = dict(zip(kept["keys"].tolist(), kept["vectors"].tolist(), strict=True))
        self._known = len(self._vectors)

    def keep(self) -> None:
        """Write the file if there is anything new."""
        if len(self._vectors) > self._known:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(self._path, keys=list(self._vectors), vectors=np.array(list(self._vectors.values())))
            self._known = len(self._vectors)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        key = _key("query", text)
        if key not in self._vectors:
            self._vectors[key] = self._provider.embed_query(text)
        return self._vectors[key]

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of memories."""
        keys = [_key("passage", text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
        if new:
            self._vectors.update(zip(new, self._provider.embed_documents(list(new.values())), strict=True))
        return [self._vectors[key] for key in keys]

    async def aembed_query(self, text: str) -> list[float]:
        """Do what `embed_query` does, in a thread."""
        return await asyncio.to_thread(self.embed_query, text)

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Do what `embed_documents` does, in a thread."""
        return await asyncio.to_thread(self.embed_documents, texts)


def _key(kind: str, text: str) -> str:
    return hashlib.blake2b(f"{kind}\0{text}".encode(), digest_size=16).hexdigest()

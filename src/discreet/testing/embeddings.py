"""Embeddings without a model: a text is the bag of its words."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence

from discreet.ports import Calibration
from discreet.providers.vectors import unit
from discreet.retrieval.tokens import tokens


class StubEmbeddings:
    """Puts each word at a place that its hash decides: fast, deterministic, and texts that share words are near.

    Meaning is lost on it: "flying animal" finds no parrot. Give many `dims` where two words must not fall on one place.
    """

    calibration = Calibration(zero=0.0, one=1.0)

    def __init__(self, dims: int = 256) -> None:
        self.dims = dims
        self.name = f"stub:words:{dims}"

    def embed_query(self, text: str) -> list[float]:
        """Return the unit vector of a question: `dims` floats, none negative."""
        vector = [0.0] * self.dims
        for word, count in Counter(tokens(text)).items():
            vector[zlib.crc32(word.encode()) % self.dims] += count
        if not any(vector):
            vector[0] = 1.0  # a text without words still has a direction
        return unit(vector, self.dims)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the unit vectors of texts to be found."""
        return [self.embed_query(text) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        """Do what `embed_query` does; it takes microseconds."""
        return self.embed_query(text)

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Do what `embed_documents` does."""
        return self.embed_documents(texts)

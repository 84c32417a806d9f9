"""Embedding models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Maps a model's cosine to the common scale of thresholds, on which 0.6 means "about the same thing".

    Cosines of different models bunch at different values, so a threshold is meaningless without this. The map is the
    straight line through two measured points, clipped to 0…1. A question is less near to its answer than a paraphrase
    is, so where one line has to serve search (0.6) and dedup (0.85, 0.95), `zero` may lie below every cosine there is.
    """

    zero: float
    """The cosine at which the line reaches 0."""
    one: float
    """The cosine of texts that say the same: 1 on the common scale."""

    def similarity(self, cosine: float) -> float:
        """Return `cosine` on the common scale, 0 to 1."""
        return min(1.0, max(0.0, (cosine - self.zero) / (self.one - self.zero)))


def is_semantic(embeddings: EmbeddingProvider) -> bool:
    """Whether near vectors mean that texts say about the same; not so for a provider with an attribute `semantic = False`."""
    return bool(getattr(embeddings, "semantic", True))


class EmbeddingProvider(Protocol):
    """Turns texts into vectors. Blocking methods are for threads and scripts, the `a…` ones for an event loop."""

    @property
    def name(self) -> str:
        """`provider:model:dims`; vectors of different names are never compared."""
        ...

    @property
    def dims(self) -> int:
        """Length of every vector."""
        ...

    @property
    def calibration(self) -> Calibration:
        """How this model's cosines read."""
        ...

    def embed_query(self, text: str) -> list[float]:
        """Return the unit vector of a question: `dims` floats.

        Raises:
            ProviderError: The model failed or could not be reached.
        """
        ...

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the unit vectors of texts to be found, in their order. An empty text gets a vector too."""
        ...

    async def aembed_query(self, text: str) -> list[float]:
        """Do what `embed_query` does without blocking the event loop."""
        ...

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Do what `embed_documents` does without blocking the event loop."""
        ...

"""Search by words alone: vectors that say of two texts whether they are the same, and nothing of what they mean."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from statistics import NormalDist

from discreet.ports import Calibration
from discreet.providers.vectors import unit
from discreet.state.text import storable

DIMS = 64
HALF = DIMS // 2

RECIPE = 1
"""Part of the provider's name. Raise it when equal texts would get other vectors."""

CALIBRATION = Calibration(zero=0.9, one=1.0)
"""Above .9 everything is read as similar, below it nothing. Directions drawn evenly in 32 dims come as near as a cosine of .9
with a chance of 5e-13, and of .965, where facts are first compared by their words, of 7e-20: 1,000 facts of each of a
million users are 5e11 pairs. Stored in half precision, equal texts stay above .999."""

_STEPS = 2**16
_GAUSS = NormalDist()
_ENDS = " .!…。！"  # full-width: Chinese


class KeywordOnly:
    """An embedding provider without embeddings, for `DISCREET_EMBEDDING_MODEL=none`.

    A text to be found gets a direction that a hash of it decides, in the first 32 dims. So a fact that is said again is
    known by its vector, and different ones are not alike. All questions get one direction in the other 32 dims: their
    cosine with every text is 0, and a search with a threshold finds what shares a word with the question.

    As with other embeddings, who reads the vectors can tell whether a text that they guess was stored.
    """

    name = f"none:keywords.{RECIPE}:{DIMS}"
    dims = DIMS
    calibration = CALIBRATION
    semantic = False

    def embed_query(self, text: str) -> list[float]:
        """Return the same unit vector for every question."""
        return [0.0] * (DIMS - 1) + [1.0]

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return unit vectors: equal for texts that differ in case, spaces and the full stop only, else unrelated."""
        return [unit([*_direction(text), *[0.0] * HALF], DIMS) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        """Do what `embed_query` does."""
        return self.embed_query(text)

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Do what `embed_documents` does; it takes microseconds."""
        return self.embed_documents(texts)


def _direction(text: str) -> list[float]:
    """Return a point of 32 normal deviates, whose direction is even (Muller, 1959)."""
    same = " ".join(unicodedata.normalize("NFC", storable(text)).casefold().split()).rstrip(_ENDS)
    drawn = hashlib.shake_256(same.encode()).digest(2 * HALF)
    steps = (int.from_bytes(drawn[at : at + 2]) for at in range(0, 2 * HALF, 2))
    return [_GAUSS.inv_cdf((step + 0.5) / _STEPS) for step in steps]

"""The fitted score of a message: a small network over its embedding, and a weight for each of its words and pairs of words.

`tools/gate_weights.py` fits both to the labelled turns of `benchmarks/gate_sets`, and says what was compared.
"""

from __future__ import annotations

import io
import logging
import re
import zlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

from discreet.errors import DiscreetError
from discreet.metrics import gate_failures
from discreet.nodes.memory_gate.text import folded, quiet, without_accents
from discreet.providers.local import local_embeddings
from discreet.retrieval.embedded_question import embedded_question

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float32]]

logger = logging.getLogger(__name__)

WEIGHTS = "weights.npz"

Round = Literal["none", "general", "personal", "asked"]
"""What the round before was: not there or small talk, general knowledge or a task, about the person, or ended with a question to them."""
ROUNDS: tuple[Round, ...] = get_args(Round)

BUCKETS = 1 << 14
_WORD = re.compile(r"[㐀-鿿]|[^\W_]+|[?!:]")


def word_buckets(text: str) -> list[int]:
    """Return the numbers, below BUCKETS, of the words (Chinese: characters) and neighbouring pairs of `text`, each once."""
    plain = without_accents(quiet(folded(text)))
    words = ["<", *("0" if word.isdigit() else word for word in _WORD.findall(plain)), ">"]
    pairs = (f"{first} {second}" for first, second in pairwise(words))
    return sorted({zlib.crc32(feature.encode()) % BUCKETS for feature in (*words[1:-1], *pairs)})


@dataclass(frozen=True)
class Weights:
    """What was fitted. `words` and `constant` have a row, `heads` a column for each of ROUNDS."""

    embedding: str
    """The local embedding that it was fitted to."""
    hidden: Floats
    """A row for each hidden unit."""
    bias: Floats
    heads: Floats
    words: Floats
    rarity: Floats
    """Inverse document frequency of each bucket of words."""
    constant: Floats

    def score(self, text: str, vector: Floats) -> Floats:
        """Return the score of `text` with this embedding after each of ROUNDS: 1 is what needs memory, -1 what does not."""
        import numpy as np  # importing this module must stay cheap

        units = np.maximum(np.vecdot(self.hidden, vector) + self.bias, 0)  # `@` wakes threads of OpenBLAS that spin
        buckets = word_buckets(text)
        rarity = self.rarity[buckets]
        length = max(float(np.sqrt(np.vecdot(rarity, rarity))), 1e-6)
        scores: Floats = units @ self.heads + self.words[:, buckets] @ rarity / length + self.constant
        return scores


@cache
def read_weights() -> Weights:
    """Return the weights that ship."""
    import numpy as np

    with np.load(io.BytesIO(files(__package__).joinpath(WEIGHTS).read_bytes()), allow_pickle=False) as stored:
        floats = {name: stored[name].astype(np.float32) for name in stored.files if name != "embedding"}
        return Weights(
            embedding=str(stored["embedding"]),
            hidden=floats["hidden"] * floats["hidden_scale"][:, None],
            bias=floats["bias"],
            heads=floats["heads"],
            words=floats["words"] * floats["words_scale"][:, None],
            rarity=floats["rarity"] * floats["rarity_scale"],
            constant=floats["constant"],
        )


def score(text: str, after: Round) -> float | None:
    """Return the score of `text` after such a round, None where there is no local embedding or it fails."""
    import numpy as np

    weights, embeddings = read_weights(), local_embeddings()
    try:
        vector = np.asarray(embeddings.embed_query(embedded_question(text)), dtype=np.float32)
    except (
        DiscreetError,
        ImportError,
        OSError,
        RuntimeError,
        ValueError,
    ) as error:  # ctypes and numpy raise the last three
        _report(type(error).__name__)
        return None
    if embeddings.name != weights.embedding:
        _report("other_embedding")
        return None
    return float(weights.score(text, vector)[ROUNDS.index(after)])


def _report(cause: str) -> None:
    gate_failures.labels("embedding", cause).inc()
    _warn_once(cause)


@cache
def _warn_once(cause: str) -> None:
    """Say it once: where there is no local model it fails every turn."""
    logger.warning("gate_embedding_failed cause=%s", cause)

"""How far a message is like what needs memory: kernel ridge regression over labelled prototypes.

The score is a sum over the prototypes, each with its weight, of two likenesses: one of the embeddings, one of the words and
pairs of words. The second tells Vietnamese without accents apart, of which the embedding knows little. A prototype that was said
after another kind of round than the message counts less.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

from discreet.nodes.memory_gate.text import folded, quiet, without_accents

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float32]]
    Whole = np.ndarray[Any, np.dtype[np.int64]]

Round = Literal["none", "general", "personal", "asked"]
"""What a round before was: not there or small talk, general knowledge or a task, about the person, or ended with a question to them."""
ROUNDS: tuple[Round, ...] = get_args(Round)

SHARPNESS, RIDGE, BIAS, WORDS_SHARE, OTHER_ROUND = 4.0, 0.3, 0.1, 0.2, 0.7
"""exp(4 (cosine - 1)) + 0.1 + 0.2 x the likeness of the words, times 0.7 where the rounds before differ, ridge 0.3. Chosen on the harder half of the tuning set:
of the 589 turns that are left to the prototypes, trained on the other half and the prototypes written by hand and at a
recall of 96 %, this is right about 87-88 %, the vote of the 15 nearest about 80 %, a linear model about 75 %; sharpness 2 to 6
and ridge 0.3 to 1 differ by two points. On the second adversarial tuning set, cross-validated, prototypes alone are right about 84 % without the round,
91 % with 0.7 and 90 % with 0.3 or 0.5."""

BUCKETS = 1 << 14
_WORD = re.compile(r"[㐀-鿿]|[^\W_]+|[?!:]")


def word_buckets(text: str) -> list[int]:
    """Return the numbers, below BUCKETS, of the words (Chinese: characters) and neighbouring pairs of `text`, each once."""
    plain = without_accents(quiet(folded(text)))
    words = ["<", *("0" if word.isdigit() else word for word in _WORD.findall(plain)), ">"]
    pairs = (f"{first} {second}" for first, second in pairwise(words))
    return sorted({zlib.crc32(feature.encode()) % BUCKETS for feature in (*words[1:-1], *pairs)})


@dataclass(frozen=True)
class WordScore:
    """The part of the score that words make: inverse document frequency of each bucket, and for each of ROUNDS weights and a constant."""

    weight: Floats
    rarity: Floats
    constant: Floats

    def of(self, text: str, after: Round = "none") -> float:
        """Return the part of `text` that was said after a round of the kind `after`."""
        row = ROUNDS.index(after)
        buckets = word_buckets(text)
        rarity = self.rarity[buckets]
        length = float((rarity @ rarity) ** 0.5)
        return float(self.constant[row]) + (float(rarity @ self.weight[row, buckets]) / length if length else 0.0)


def embedding_kernel(some: Floats, others: Floats) -> Floats:
    """Return the likeness of each of `some` unit vectors, or of one that is no matrix, to each of `others`."""
    import numpy as np  # importing this module must stay cheap

    # `@` of one vector wakes the threads of OpenBLAS, which then wait by spinning: 21 ms of CPU instead of 0.6, no sooner
    cosines = np.vecdot(others, some) if some.ndim == 1 else some @ others.T
    likeness: Floats = np.exp(SHARPNESS * (cosines - 1))
    return likeness


def round_kernel(some: Sequence[Round], others: Sequence[Round]) -> Floats:
    """Return how much each of `others` counts for each of `some`: 1 after the same kind of round, else OTHER_ROUND."""
    import numpy as np

    mine, theirs = (np.array([ROUNDS.index(after) for after in rounds]) for rounds in (some, others))
    return np.where(mine[:, None] == theirs, 1.0, OTHER_ROUND).astype(np.float32)


def fit_vectors(vectors: Floats, targets: Floats, rounds: Sequence[Round]) -> Floats:
    """Return the prototypes' weights by their embeddings alone. `targets` are 1 for retrieve, -1 for skip."""
    import numpy as np

    kernel = embedding_kernel(vectors, vectors) * round_kernel(rounds, rounds)
    kernel[np.diag_indices(len(kernel))] += RIDGE
    weights: Floats = np.linalg.solve(kernel, targets).astype(np.float32)
    return weights


def word_matrix(texts: Sequence[str]) -> tuple[Floats, Floats]:
    """Return a row of unit length for each text over the buckets that occur twice, and the rarity of every bucket."""
    import numpy as np

    buckets = [word_buckets(text) for text in texts]
    count = np.bincount(np.concatenate(buckets), minlength=BUCKETS)
    rarity = np.where(count > 1, np.log(len(texts) / np.maximum(count, 1)), 0).astype(np.float32)
    rows = np.zeros((len(texts), BUCKETS), dtype=np.float32)
    for row, mine in zip(rows, buckets, strict=True):
        row[mine] = rarity[mine] / max(float(np.linalg.norm(rarity[mine])), 1e-6)
    return rows, rarity


def whole_kernel(vectors: Floats, texts: Sequence[str], rounds: Sequence[Round]) -> Floats:
    """Return the likeness of each prototype to each."""
    import numpy as np

    rows, _ = word_matrix(texts)
    rows -= rows.mean(axis=0)
    rows = rows[:, rows.any(axis=0)]
    likeness = embedding_kernel(vectors, vectors)
    likeness += np.float32(WORDS_SHARE) * (rows @ rows.T) + np.float32(BIAS)
    likeness *= round_kernel(rounds, rounds)
    return likeness


def fit(vectors: Floats, texts: Sequence[str], targets: Floats, rounds: Sequence[Round]) -> tuple[Floats, WordScore]:
    """Return the prototypes' weights, and the score of words. It takes some GB and half a minute for 7,000 prototypes."""
    import numpy as np

    kernel = whole_kernel(vectors, texts, rounds)
    kernel[np.diag_indices(len(kernel))] += RIDGE
    weights: Floats = np.linalg.solve(kernel, targets).astype(np.float32)
    rows, rarity = word_matrix(texts)
    mean = rows.mean(axis=0)
    counted = round_kernel(ROUNDS, rounds) * weights
    words = WORDS_SHARE * (counted @ rows - counted.sum(axis=1)[:, None] * mean)
    return weights, WordScore(words, rarity, BIAS * counted.sum(axis=1) - words @ mean)

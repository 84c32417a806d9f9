"""Decide about each tuning turn with weights that are fitted without it and without what is much like it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from gating.figures import Turn

from discreet.nodes.memory_gate import GateDecision, default_prototypes, default_rules
from discreet.nodes.memory_gate.before import round_before
from discreet.nodes.memory_gate.likeness import BIAS, RIDGE, WORDS_SHARE, embedding_kernel, word_matrix
from discreet.nodes.memory_gate.prototypes import OVERRULE_ABOVE, SKIP_BELOW, Neighbours, digests, read_stored
from discreet.nodes.memory_gate.rules import Before, RuleBook
from discreet.nodes.memory_gate.text import without_accents
from discreet.providers.local import local_embeddings

if TYPE_CHECKING:
    from discreet.nodes.memory_gate.likeness import Floats

FOLDS = 5
ALIKE = 0.7
"""Cosine from which two prototypes fall into one fold: turns were written in four languages on the same subjects."""


def crossed(turns: Sequence[Turn]) -> list[tuple[Turn, bool]]:
    """Return what rules and prototypes of other folds say. The rules themselves are not fitted anew.

    A turn that is no prototype, as only the round before makes it what it is, is decided as the gate does.
    """
    prototypes = default_prototypes()
    texts = [prototype.text for prototype in prototypes]
    stored = read_stored(local_embeddings().name).vectors
    vectors = np.array([stored[key] for key in digests(texts)], dtype=np.float32)
    targets = np.array([1.0 if prototype.retrieve else -1.0 for prototype in prototypes])
    rows, _ = word_matrix(texts)
    rows -= rows.mean(axis=0)
    rows = rows[:, np.any(rows != 0, axis=0)]
    kernel = embedding_kernel(vectors, vectors) + WORDS_SHARE * (rows @ rows.T) + BIAS
    place = {text.casefold(): i for i, text in enumerate(texts)}
    fold = _folds(vectors, texts)
    scores = np.zeros(len(texts))
    for number in range(FOLDS):
        rest, mine = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        fitted = kernel[np.ix_(rest, rest)] + RIDGE * np.eye(len(rest), dtype=np.float32)
        scores[mine] = kernel[np.ix_(mine, rest)] @ np.linalg.solve(fitted, targets[rest])
        print(f"fold {number + 1} of {FOLDS}", flush=True)
    book, weak = RuleBook(default_rules()), {rule.name for rule in default_rules() if rule.weak}
    neighbours = Neighbours(prototypes)

    def before(turn: Turn) -> frozenset[Before]:
        if turn.previous is not None:
            _by_both(turn.previous.said, book.decide(turn.previous.said), neighbours, weak)
        return round_before(turn.previous, book, neighbours)

    said = []
    for turn in turns:
        ruled = book.decide(turn.text, partial(before, turn))
        at = place.get(turn.text.casefold())
        if at is None:
            said.append((turn, _by_both(turn.text, ruled, neighbours, weak).retrieve))
        elif ruled is None:
            said.append((turn, bool(scores[at] >= SKIP_BELOW)))
        else:
            said.append((turn, ruled.retrieve or (ruled.reason in weak and bool(scores[at] > OVERRULE_ABOVE))))
    return said


def _by_both(text: str, ruled: GateDecision | None, neighbours: Neighbours, weak: Collection[str]) -> GateDecision:
    if ruled is None:
        return neighbours.decide(text)
    return (neighbours.overrule(text) if ruled.reason in weak else None) or ruled


def _folds(vectors: Floats, texts: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return a fold for each prototype, the same for those that are alike, step by step."""
    parents = list(range(len(texts)))

    def root(i: int) -> int:
        while parents[i] != i:
            parents[i] = parents[parents[i]]
            i = parents[i]
        return i

    for i, j in zip(*np.nonzero(np.triu(vectors @ vectors.T, 1) > ALIKE), strict=True):
        parents[root(int(i))] = root(int(j))
    plain: dict[str, int] = {}
    for i, text in enumerate(texts):
        parents[root(i)] = root(plain.setdefault(without_accents(text.casefold()), i))
    draw = np.random.default_rng(1).integers(FOLDS, size=len(texts))
    return np.array([draw[root(i)] for i in range(len(texts))])

"""Decide about each tuning turn with weights that are fitted without it and without what is much like it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from gating.figures import Turn

from discreet.nodes.memory_gate import decide, default_prototypes, default_rules
from discreet.nodes.memory_gate.before import kind_of, round_before
from discreet.nodes.memory_gate.likeness import OTHER_ROUND, RIDGE, ROUNDS, whole_kernel
from discreet.nodes.memory_gate.prototypes import (
    OVERRULE_ABOVE,
    SKIP_BELOW,
    keys_of,
    read_stored,
)
from discreet.nodes.memory_gate.rules import RuleBook
from discreet.nodes.memory_gate.text import without_accents
from discreet.providers.local import local_embeddings

if TYPE_CHECKING:
    from discreet.nodes.memory_gate.likeness import Floats

FOLDS = 5
ALIKE = 0.7
"""Cosine from which two prototypes fall into one fold: turns were written in four languages on the same subjects."""


def crossed(turns: Sequence[Turn]) -> list[tuple[Turn, bool]]:
    """Return what rules and prototypes of other folds say. Neither the rules nor what is said of the rounds before is fitted anew."""
    prototypes = default_prototypes()
    texts = [prototype.text for prototype in prototypes]
    rounds = [prototype.after for prototype in prototypes]
    stored = read_stored(local_embeddings().name).vectors
    vectors = np.array([stored[key] for key in keys_of(prototypes)], dtype=np.float32)
    targets = np.array([1.0 if prototype.retrieve else -1.0 for prototype in prototypes], dtype=np.float32)
    kernel = whole_kernel(vectors, texts, rounds)
    place = {prototype.key: i for i, prototype in enumerate(prototypes)}
    fold = _folds(vectors, texts)
    codes = np.array([ROUNDS.index(after) for after in rounds])
    with_round, without = np.zeros((2, len(texts)))
    for number in range(FOLDS):
        rest, mine = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        fitted = kernel[np.ix_(rest, rest)] + RIDGE * np.eye(len(rest), dtype=np.float32)
        weights = np.linalg.solve(fitted, targets[rest])
        likeness = kernel[np.ix_(mine, rest)]
        with_round[mine] = likeness @ weights
        likeness[codes[mine][:, None] != codes[rest]] /= OTHER_ROUND
        likeness[:, codes[rest] != ROUNDS.index("none")] *= OTHER_ROUND
        without[mine] = likeness @ weights
        print(f"fold {number + 1} of {FOLDS}", flush=True)
    book, weak = RuleBook(default_rules()), {rule.name: rule for rule in default_rules() if rule.weak}
    said = []
    for turn in turns:
        before = round_before(turn.previous, book, decide)
        ruled = book.decide(turn.text, (lambda before=before: before) if turn.previous else None)
        at = place.get((turn.text.casefold(), kind_of(before)))
        if at is None:
            print(f"{turn.text!r} is no prototype after {kind_of(before)}")
            said.append((turn, decide(turn.text, turn.previous).retrieve))
        elif ruled is None:
            said.append((turn, bool(with_round[at] >= SKIP_BELOW)))
        elif ruled.retrieve or (rule := weak.get(ruled.reason)) is None:
            said.append((turn, ruled.retrieve))
        else:
            said.append((turn, bool((with_round if rule.follows else without)[at] > OVERRULE_ABOVE)))
    return said


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

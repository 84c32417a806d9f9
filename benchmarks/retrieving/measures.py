"""How well a list of memories answers a question, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

DEPTHS = (5, 10, 20)
DEEPEST = 50
"""So many memories are asked for. An answer that is not among them counts 0."""
ROUNDS = 1_000
"""Of the bootstrap."""


class Quality(NamedTuple):
    """Of one list, or the mean over many."""

    r5: float
    """Share of the answers among the best 5."""
    r10: float
    r20: float
    mrr: float
    """1 / rank of the first answer."""


@dataclass(frozen=True)
class Judged:
    """One question's list."""

    person: str
    category: str
    quality: Quality


def judge(found: Sequence[int], answers: Sequence[int]) -> Quality:
    """Return how good the list `found` is, best first, if `answers` are right."""
    ranks = [found.index(answer) + 1 for answer in answers if answer in found]
    shares = (sum(rank <= depth for rank in ranks) / len(answers) for depth in DEPTHS)
    return Quality(*shares, 1 / min(ranks) if ranks else 0.0)


def mean(lists: Sequence[Judged]) -> Quality:
    """Return the mean over all questions."""
    return Quality(*np.mean([each.quality for each in lists], axis=0).tolist())


def intervals(lists: Sequence[Judged]) -> list[tuple[float, float]]:
    """Return the 95 % interval of each figure of the mean: bootstrap over persons, and over the questions of each.

    Questions about one conversation are alike; drawn without regard for that, intervals come out too narrow (Field and
    Welsh, "Bootstrapping Clustered Data", 2007). With one person only its questions are drawn.
    """
    generator = np.random.default_rng(0)
    people = [
        np.array([each.quality for each in lists if each.person == name])
        for name in dict.fromkeys(each.person for each in lists)
    ]
    means = []
    for _ in range(ROUNDS):
        drawn = generator.integers(len(people), size=len(people))
        rows = [people[n][generator.integers(len(people[n]), size=len(people[n]))] for n in drawn]
        means.append(np.concatenate(rows).mean(axis=0))
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))

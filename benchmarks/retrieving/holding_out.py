"""Choose a weight on some conversations and measure it on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from retrieving.measures import Judged, Quality, mean

GRID = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
"""Weights of BM25 to choose from."""


@dataclass(frozen=True)
class Fold:
    """One conversation, and the weight that was best on the others."""

    person: str
    weight: float
    lists: list[Judged]


def hold_out(measured: Mapping[float, Sequence[Judged]]) -> list[Fold]:
    """Return a fold for each person. `measured` has the lists of all persons by weight."""
    people = dict.fromkeys(each.person for each in next(iter(measured.values())))
    folds = []
    for person in people:
        goodness = {
            weight: _goodness(mean([each for each in lists if each.person != person]))
            for weight, lists in measured.items()
        }
        best = max(goodness, key=goodness.__getitem__)
        folds.append(Fold(person, best, [each for each in measured[best] if each.person == person]))
    return folds


def _goodness(quality: Quality) -> float:
    """Return the one number that a weight is chosen by."""
    return (quality.r5 + quality.r10 + quality.mrr) / 3

"""Codes and passwords that no form of sentence announces, by all that stands around them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from operator import mul
from types import ModuleType
from typing import NamedTuple

from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.told import likely_numbers, likely_passwords, likely_words
from discreet.redaction.recognisers.told.surroundings import count_near, words_of

SORTS: Mapping[str, ModuleType] = {
    "numbers": likely_numbers,
    "passwords": likely_passwords,
    "words": likely_words,
}
"""What may be a secret: modules that find candidates and return their figures."""


class Model(NamedTuple):
    """A logistic model: how much each figure speaks for a secret."""

    weights: tuple[float, ...]
    bias: float
    threshold: float

    def accepts(self, figures: list[float]) -> bool:
        """Tell whether the log odds that they are of a secret are high enough."""
        return bool(self.bias + sum(map(mul, self.weights, figures)) > self.threshold)


@cache
def models() -> Mapping[str, Model]:
    """Return the models of all sorts, which `benchmarks/told_model.py` fits."""
    data = tomllib.loads((files(__package__) / "likely.toml").read_text("utf-8"))
    return {
        name: Model(
            tuple(data[name]["weights"][figure] for figure in sort.FIGURES), data[name]["bias"], data[name]["threshold"]
        )
        for name, sort in SORTS.items()
    }


def candidates(view: View, name: str) -> tuple[list[Span], list[Span]]:
    """Return all candidates of a sort, and those that are worth weighing."""
    sort = SORTS[name]
    foreign = sort.FOREIGN and not view.text.isascii()
    if not (foreign or words_of(*sort.TELLING).places(view)):
        return [], []
    found: list[Span] = sort.candidates(view)
    return found, [span for span in found if sort.is_told(view, span) and count_near(span, found) <= sort.MOST_NEAR]


class LikelySecretRecogniser:
    """Weighs the words around each number and each word that may be a password."""

    type = "SECRET"
    GUESSES = True
    """Gives way to those that know what a number is."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all that are likely secrets."""
        for name, sort in SORTS.items():
            found, worth = candidates(view, name)
            model = models()[name] if worth else None
            yield from (span for span in worth if model and model.accepts(sort.figures(view, span, found)))

"""Names of people by Presidio and its language model, for those who install them: `pip install 'discreet[presidio]'`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from discreet.errors import MissingDependencyError
from discreet.redaction.view import BLANK, Span, View


class PresidioRecogniser:
    """Finds what a Presidio `AnalyzerEngine` finds of `entities`. Off by default: it's slow, and English models mask other languages.

    `analyzer` is an engine of your own; by default the one Presidio makes, with the spaCy model that it names. A text costs
    milliseconds where our own recognisers take tenths.

    Raises, when it is first used:
        MissingDependencyError: The package is not installed.
    """

    def __init__(
        self,
        *,
        analyzer: Any = None,
        entities: Sequence[str] = ("PERSON",),
        language: str = "en",
        type: str = "PERSON",  # noqa: A002 - what recognisers call it
        least_score: float = 0.5,
    ) -> None:
        self.type = type
        self._given = analyzer
        self._entities = list(entities)
        self._language = language
        self._least_score = least_score

    @cached_property
    def _analyzer(self) -> Any:
        if self._given is not None:
            return self._given
        try:
            from presidio_analyzer import AnalyzerEngine  # noqa: PLC0415 - optional
        except ImportError as error:
            raise MissingDependencyError("Presidio is not installed: pip install 'discreet[presidio]'.") from error
        return AnalyzerEngine()

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all entities that are found with enough confidence."""
        found = self._analyzer.analyze(
            view.text.replace(BLANK, " "),
            language=self._language,
            entities=self._entities,
            score_threshold=self._least_score,
        )
        for each in found:
            if each.end > each.start:
                yield each.start, each.end

"""Names of people by Presidio and a spaCy model that is installed, for those who have both: the extra `presidio`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from discreet.errors import MissingDependencyError
from discreet.redaction.normalized_text import BLANK, Span, View

ENGLISH_MODELS = ("en_core_web_lg", "en_core_web_md", "en_core_web_sm")
"""Best first; spaCy's own, under the MIT licence."""


class PresidioRecogniser:
    """Finds what a Presidio `AnalyzerEngine` finds of `entities`. Off by default: it's slow, and English models mask other languages.

    `analyzer` is an engine of your own; by default one with the first of `models` that is installed, which never uses the
    network. Entities that no model knows are looked for by Presidio's patterns. A text costs milliseconds where our own
    recognisers take tenths.

    Raises, when it is first used:
        MissingDependencyError: The package is not installed, or none of the models is.
    """

    def __init__(
        self,
        *,
        analyzer: Any = None,
        entities: Sequence[str] = ("PERSON",),
        language: str = "en",
        type: str = "PERSON",
        least_score: float = 0.5,
        models: Sequence[str] = ENGLISH_MODELS,
    ) -> None:
        self.type = type
        self._given = analyzer
        self._entities = list(entities)
        self._language = language
        self._least_score = least_score
        self._models = tuple(models)

    @cached_property
    def _analyzer(self) -> Any:
        return self._made() if self._given is None else self._given

    def _made(self) -> Any:
        """Return an engine over a model that is loaded already: Presidio downloads one that it has to load and doesn't find."""
        try:
            import spacy  # optional
            from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
            from presidio_analyzer.nlp_engine import SpacyNlpEngine
        except ImportError as error:
            raise MissingDependencyError("Presidio is not installed: pip install presidio-analyzer.") from error
        model = next(filter(spacy.util.is_package, self._models), None)
        if model is None:
            raise MissingDependencyError(
                f"Presidio needs a spaCy model, and none of {', '.join(self._models)} is installed: "
                f"python -m spacy download {self._models[0]}"
            )
        nlp = SpacyNlpEngine(models=[{"lang_code": self._language, "model_name": model}])
        nlp.nlp = {self._language: spacy.load(model)}
        registry = RecognizerRegistry(supported_languages=[self._language])
        registry.add_nlp_recognizer(nlp)
        if not set(self._entities) <= set(nlp.get_supported_entities()):
            import tldextract  # comes with Presidio, which asks it about e-mail addresses

            tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
            registry.load_predefined_recognizers(languages=[self._language], nlp_engine=nlp)
        return AnalyzerEngine(registry=registry, nlp_engine=nlp, supported_languages=[self._language])

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

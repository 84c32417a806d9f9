"""How recognisers of names of people do on `redaction_sets/names`, each in the languages that it claims.

Some of the ordinary rows speak of famous people; a recogniser that knows no difference masks them too, and that is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pkgutil import resolve_name

from redacting.catching import MAIN_LANGUAGES, Result, has_leaked
from redacting.engines import Engine, Ours, presidio_engine
from redacting.report import Figure, share
from redacting.rows import Row, Value
from redacting.statistics import Share, shares
from redaction_sets import names

from discreet.errors import MissingDependencyError
from discreet.redaction import Finding, Redactor
from discreet.redaction.configured import SHORT_NAMES

TYPE = "PERSON"
OURS = "discreet, names"
TRIED = "Ann"
"""A text that makes a recogniser load what it needs."""

Claim = tuple[Engine, frozenset[str]]
"""One that claims names, and the languages for which it does."""


def rows(seed: int) -> list[Row]:
    """Return the rows with names and those without; the set of each says of which half it is."""
    return [
        Row(
            f"names_{each.half}",
            each.language,
            each.text,
            tuple(Value(start, end, TYPE, each.kind) for start, end in each.spans),
            negative=not each.spans,
            evasion=None,
        )
        for each in names.rows(seed)
    ]


def engines() -> tuple[list[Claim], list[str]]:
    """Return those that claim names and can be used here, and a line about each that can't."""
    recognisers = []
    claimed: set[str] = set()
    notes: list[str] = []
    for short in SHORT_NAMES:
        if not short.startswith("names-"):
            continue
        recogniser = resolve_name(SHORT_NAMES[short])()
        try:
            Redactor(recognisers=[recogniser]).findings(TRIED)
        except MissingDependencyError as error:
            notes.append(f"{short}: {error}")
            continue
        recognisers.append(recogniser)
        claimed.add(short.removeprefix("names-"))
    found: list[Claim] = []
    if recognisers:
        found.append((Ours(Redactor(recognisers=recognisers)).engine(OURS), frozenset(claimed)))
    try:
        found.append((presidio(), frozenset({"en"})))
    except ModuleNotFoundError as error:
        notes.append(f"presidio, names: not installed: {error.name}")
    return found, notes


def presidio() -> Engine:
    """Return Presidio with names on, over the English model of spaCy that is installed; nothing is downloaded.

    Raises:
        ModuleNotFoundError: Presidio or a model is not installed.
    """
    from presidio_analyzer.nlp_engine import NlpEngineProvider  # an optional package
    from spacy.util import get_installed_models

    models = sorted(name for name in get_installed_models() if name.startswith("en_core_web_"))
    if not models:
        raise ModuleNotFoundError(name="a spaCy model en_core_web_…")
    model = {"lang_code": "en", "model_name": models[0]}
    analyzer = presidio_engine(
        NlpEngineProvider(nlp_configuration={"nlp_engine_name": "spacy", "models": [model]}).create_engine, ["en"]
    )

    def find(text: str, _language: str) -> list[Finding]:
        found = analyzer.analyze(text, "en", entities=[TYPE])
        return [Finding(each.entity_type, each.start, each.end) for each in found]

    return Engine(f"Presidio {version('presidio-analyzer')}, {models[0]}", find, find)


def figures(engine: str, claimed: frozenset[str], result: Result) -> Iterator[Figure]:
    """Yield which names an engine misses, and which ordinary rows it masks; halves apart, since one was tuned to."""
    group = f"Names of people: {engine}"
    for half in ("tuning", "held_out"):
        name = half.replace("_", "-")
        for what, of in (
            ("missed", _by_language(result, half)),
            ("ordinary rows masked", _masked_by_language(result, half)),
        ):
            for language in sorted(claimed, key=_order):
                if language in of:
                    yield share(group, f"{name}, {language}: {what}", of[language], engine=engine)


def of_languages(claimed: frozenset[str], given: Sequence[Row]) -> list[Row]:
    """Return the rows of those languages."""
    return [row for row in given if row.language in claimed]


def _by_language(result: Result, half: str) -> dict[str, Share]:
    return shares(
        result.outcomes, lambda each: each.row.language if each.row.set.endswith(half) else None, bad=has_leaked
    )


def _masked_by_language(result: Result, half: str) -> dict[str, Share]:
    return shares(
        result.masked, lambda pair: pair[0].language if pair[0].set.endswith(half) else None, bad=lambda pair: pair[1]
    )


def _order(language: str) -> int:
    return MAIN_LANGUAGES.index(language) if language in MAIN_LANGUAGES else len(MAIN_LANGUAGES)

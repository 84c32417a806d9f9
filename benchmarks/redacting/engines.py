"""Discreet's redactor and others, all as functions from a text to what they hide."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from redacting.alignment import UnalignedError, hidden

from discreet.redaction import Finding, Redactor

OURS = "discreet"
LANGUAGES = ("en", "vi", "ru", "zh", "de", "fr", "ja", "ko", "es")
LANGCHAIN_DETECTORS = ("email", "credit_card", "ip", "mac_address", "url")


@dataclass(frozen=True)
class Engine:
    """One of those that are compared."""

    name: str
    find: Callable[[str, str], Sequence[Finding]]
    """Text, language -> what is hidden of it."""
    run: Callable[[str, str], object]
    """Text, language -> the work that is timed."""


@dataclass
class Ours:
    """Discreet's redactor, judged by its output alone."""

    redactor: Redactor
    unaligned: int = 0
    """Outputs that can't be explained by placeholders. None of their values counts as caught."""

    def find(self, text: str, _language: str) -> Sequence[Finding]:
        """Return what the output hides."""
        try:
            return hidden(text, self.redactor.redact(text), self.redactor.findings(text))
        except UnalignedError:
            self.unaligned += 1
            return []

    def run(self, text: str, _language: str) -> Sequence[Finding]:
        """Search the text. `redact` does so too, but knows a text again in which it found nothing."""
        return self.redactor.findings(text)

    def engine(self, name: str = OURS) -> Engine:
        """Return it as one of those that are compared."""
        return Engine(name, self.find, self.run)


def peers() -> tuple[list[Engine], list[str]]:
    """Return the others that are installed, and a line about each that isn't."""
    engines: list[Engine] = []
    absent: list[str] = []
    for name, package, make in (
        ("langchain", "langchain", langchain),
        ("presidio", "presidio-analyzer spacy", presidio),
        ("kingfisher", "kingfisher-secret-scanner", kingfisher),
    ):
        try:
            engines.append(make())
        except ModuleNotFoundError:
            absent.append(f"{name}: not installed: pip install {package}")
    return engines, absent


def langchain() -> Engine:
    """Return the detectors of LangChain's PIIMiddleware, all that it has."""
    from langchain.agents.middleware import PIIMiddleware  # an optional package

    detectors = [PIIMiddleware(kind).detector for kind in LANGCHAIN_DETECTORS]

    def find(text: str, _language: str) -> list[Finding]:
        return [Finding(each["type"], each["start"], each["end"]) for detect in detectors for each in detect(text)]

    return Engine(f"PIIMiddleware {version('langchain')}", find, find)


def presidio() -> Engine:
    """Return Presidio's pattern recognisers over a tokeniser without a model, for the languages of the sets."""
    import spacy
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    class Blank(SpacyNlpEngine):
        """Splits into words and knows nothing about them."""

        def load(self) -> None:
            self.nlp = {language: _blank(spacy, language) for language in LANGUAGES}

    def blank() -> Blank:
        nlp = Blank(models=[{"lang_code": language, "model_name": "blank"} for language in LANGUAGES])
        nlp.load()
        return nlp

    analyzer = presidio_engine(blank, LANGUAGES)

    def find(text: str, language: str) -> list[Finding]:
        known = language if language in LANGUAGES else "en"
        return [Finding(each.entity_type, each.start, each.end) for each in analyzer.analyze(text, known)]

    return Engine(f"Presidio {version('presidio-analyzer')}", find, find)


def presidio_engine(make_nlp: Callable[[], Any], languages: Sequence[str]) -> Any:
    """Return a quiet Presidio with all recognisers that it has for the languages, which asks no network."""
    import tldextract
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry

    logging.getLogger("presidio-analyzer").setLevel(logging.ERROR)
    tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=())  # its own copy, no download
    with _silenced():
        nlp = make_nlp()
        registry = RecognizerRegistry(supported_languages=list(languages))
        registry.load_predefined_recognizers(languages=list(languages), nlp_engine=nlp)
        return AnalyzerEngine(registry=registry, nlp_engine=nlp, supported_languages=list(languages))


def kingfisher() -> Engine:
    """Return the bundled rules of MongoDB's Kingfisher, which look for secrets only."""
    from kingfisher_sdk import Rules, Scanner

    scanner = Scanner(Rules(cache=False))

    def find(text: str, _language: str) -> list[Finding]:
        places = [
            (each.location["start_offset"], each.location["end_offset"]) for each in scanner.scan(text) if each.visible
        ]
        if not places or text.isascii():
            return [Finding("SECRET", *place) for place in places]
        whole = text.encode()
        return [Finding("SECRET", *(len(whole[:edge].decode(errors="ignore")) for edge in place)) for place in places]

    return Engine(f"Kingfisher {version('kingfisher-secret-scanner')}", find, find)


def _blank(spacy: object, language: str) -> object:
    """Return a pipeline without parts; by characters or spaces where a language's own needs a dictionary."""
    try:
        return spacy.blank(language)  # type: ignore[attr-defined]  # spaCy, given as an object
    except ImportError:
        return spacy.blank("xx")  # type: ignore[attr-defined]  # the same


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Keep what a library prints while it loads out of the report."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        yield

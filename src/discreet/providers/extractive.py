"""A summary without a model: the most telling of the user's own words, quoted as such. Nothing is understood, nothing added."""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import takewhile

from discreet.ports import SpokenRound, TokenCounter
from discreet.providers.offline.reading import Language, Reading, language_of, read
from discreet.providers.quotations import ANSWER, CLOSE, OPEN, Kind, Statement, choose
from discreet.providers.sentences import shortened
from discreet.providers.tokens import count_tokens
from discreet.retrieval.tokens import tokens
from discreet.state.text import sentences

STATEMENT_TOKENS = 24
"""Of a longer statement the first clauses are quoted. A turn of LoCoMo, which has two or three sentences, takes 36."""

_QUOTED = re.compile(rf"(?P<answer>{ANSWER})?{OPEN}(?P<text>[^{OPEN}{CLOSE}]*){CLOSE}")
_CLAUSE_END = re.compile(r"[,;:](?=\s)|\s[—–-](?=\s)|[，；：、]")  # full-width: Chinese


class ExtractiveSummaryProvider:
    """Quotes what the user stated, rarest words first, and of the answers only what settles something.

    For the offline case. It reads English, Vietnamese, Russian and Chinese; the same rounds always give the same summary.
    """

    def __init__(self, *, count_tokens: TokenCounter = count_tokens) -> None:
        self._count_tokens = count_tokens

    async def summarize(self, rounds: Sequence[SpokenRound], *, earlier: str = "", max_tokens: int = 200) -> str:
        """Return the statements that say the most within `max_tokens`, in their order; nothing if none says anything."""
        return await asyncio.to_thread(self._summarize, rounds, earlier, max_tokens)

    def brief(self, text: str, max_tokens: int) -> str:
        """Return the statements of one `text` that say the most within `max_tokens`, else its beginning. Not quoted."""
        found = [self._statement(sentence, _kind(sentence)) for sentence in sentences(text)]
        told = " ".join(each.text for each in choose(found, self._count_tokens, max_tokens))
        return shortened(told or text, lambda part: self._count_tokens(part) <= max_tokens)

    def _summarize(self, rounds: Sequence[SpokenRound], earlier: str, max_tokens: int) -> str:
        before = list(self._read_summary(earlier))
        found = [each for spoken in rounds for each in self._read_round(spoken)] if rounds else before
        language = language_of(" ".join(each.text for each in found))
        header = "" if rounds and any(text in earlier for text in _headers()) else _words(language)["header"]
        left = max_tokens - self._count_tokens(header)
        chosen = choose(found, self._count_tokens, left, before=before if rounds else ())
        text = " ".join([header, *(each.quoted for each in chosen)]).strip() if chosen else ""
        return shortened(text, lambda part: self._count_tokens(part) <= max_tokens)

    def _read_round(self, spoken: SpokenRound) -> Iterator[Statement]:
        for sentence in sentences(spoken.said):
            reading = read(sentence)
            if reading.forget:  # what is to be forgotten is not repeated
                continue
            text = reading.facts or reading.question or sentence
            yield self._statement(text, _kind_of(reading))
        for sentence in sentences(spoken.answered):
            if _settles(sentence):
                yield self._statement(sentence, "decision")

    def _read_summary(self, text: str) -> Iterator[Statement]:
        """Yield the statements of an earlier summary: our quotations, or the sentences of a model."""
        text = without_headers(text)
        end = 0
        for match in _QUOTED.finditer(text):
            yield from (self._statement(each, "summary") for each in sentences(text[end : match.start()]))
            quoted = match["text"]
            yield self._statement(quoted, "decision" if match["answer"] else _kind(quoted))
            end = match.end()
        yield from (self._statement(each, "summary") for each in sentences(text[end:]))

    def _statement(self, text: str, kind: Kind) -> Statement:
        short = self._first_clauses(" ".join(text.split()))
        return Statement(short, kind, frozenset(tokens(short)))

    def _first_clauses(self, text: str) -> str:
        def fits(part: str) -> bool:
            return self._count_tokens(part) <= STATEMENT_TOKENS

        if fits(text):
            return text
        starts = (match.start() for match in _CLAUSE_END.finditer(text))
        short = ""
        for clauses in takewhile(fits, (f"{text[:start]}…" for start in starts)):
            short = clauses
        if self._count_tokens(short) >= STATEMENT_TOKENS // 3:
            return short
        return shortened(text, fits)


def without_headers(summary: str) -> str:
    """Return a summary without what stands in front of its quotations."""
    for header in _headers():
        summary = summary.replace(header, " ")
    return summary


def _kind(sentence: str) -> Kind:
    return _kind_of(read(sentence))


def _kind_of(reading: Reading) -> Kind:
    if reading.facts:
        return "fact"
    return "question" if reading.question else "remark"


def _settles(sentence: str) -> bool:
    """Whether an answer's sentence says what was decided; a question whether to decide so says nothing yet."""
    if sentence.endswith(("?", "\uff1f")):
        return False
    return _decisions(language_of(sentence)).search(sentence.casefold().replace("’", "'")) is not None


@cache
def _decisions(language: Language) -> re.Pattern[str]:
    body = "|".join(_words(language)["decisions"])
    return re.compile(body if language == "zh" else rf"(?<!\w)(?:{body})(?!\w)")


def _words(language: Language) -> dict[str, str]:
    return _all_words()[language]


def _headers() -> list[str]:
    return [words["header"] for words in _all_words().values()]


@cache
def _all_words() -> dict[str, dict[str, str]]:
    return tomllib.loads(files(__package__).joinpath("extractive.toml").read_text(encoding="utf-8"))

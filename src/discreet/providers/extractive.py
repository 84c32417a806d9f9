"""A summary without a model: the most telling of the user's own words, quoted as such. Nothing is understood, nothing added."""

from __future__ import annotations

import asyncio
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import takewhile
from typing import Literal

from discreet.ports import SpokenRound, TokenCounter
from discreet.providers.offline.reading import Language, language_of, read
from discreet.providers.sentences import shortened
from discreet.providers.tokens import count_tokens
from discreet.retrieval.tokens import tokens
from discreet.state.sentences import sentences

Kind = Literal["fact", "remark", "question", "decision", "summary"]

WORTH: Mapping[Kind, float] = {"fact": 1.0, "decision": 1.0, "summary": 1.0, "remark": 0.6, "question": 0.3}
"""What a word of a statement counts. A question says what somebody does not know, a fact about the user what will matter."""

TELLING = 1.5
"""How much more a statement counts that has a number, a placeholder or a name: what is asked for later is mostly one."""

STATEMENT_TOKENS = 24
"""Of a longer statement the first clauses are quoted. A turn of LoCoMo, which has two or three sentences, takes 36."""

LEAST_WORDS = 2
"""A statement with fewer words that were not quoted before says nothing new."""

LEAST_TOKENS = 6
"""A shorter remark ("Hey Mel!") says nothing."""

OVERHEAD_TOKENS = 6
"""Added to the length that a statement's worth is divided by, so that scraps don't win over sentences."""

LEAST_VALUE = 0.4
"""What is worth less for its length than this share of the best is left out, though there be room."""

ANSWER, OPEN, CLOSE = "→ ", "“", "”"

_QUOTED = re.compile(rf"(?P<answer>{ANSWER})?{OPEN}(?P<text>[^{OPEN}{CLOSE}]*){CLOSE}")
_CLAUSE_END = re.compile(r"[,;:](?=\s)|\s[—–-](?=\s)|[，；：、]")  # noqa: RUF001  # full-width: Chinese
_FIGURE = re.compile(r"\d|<[A-Z][A-Z0-9_:]*>")


@dataclass(frozen=True)
class Statement:
    """One sentence, or its first clauses."""

    text: str
    kind: Kind
    words: frozenset[str] = field(repr=False)

    @property
    def quoted(self) -> str:
        """The statement as it stands in the summary."""
        if self.kind == "summary":
            return self.text
        bare = self.text.translate({ord(OPEN): '"', ord(CLOSE): '"'})
        return f"{ANSWER if self.kind == 'decision' else ''}{OPEN}{bare}{CLOSE}"


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
        chosen = self._choose(found, _rarity(found), set(), max_tokens)
        told = " ".join(each.text for each in chosen)
        return shortened(told or text, lambda part: self._count_tokens(part) <= max_tokens)

    def _summarize(self, rounds: Sequence[SpokenRound], earlier: str, max_tokens: int) -> str:
        before = list(self._read_summary(earlier))
        found = [each for spoken in rounds for each in self._read_round(spoken)] if rounds else before
        language = language_of(" ".join(each.text for each in found))
        header = "" if rounds and any(text in earlier for text in _headers()) else _words(language)["header"]
        seen = {word for each in before for word in each.words} if rounds else set[str]()
        rarity = _rarity([*before, *found] if rounds else found)
        left = max_tokens - self._count_tokens(header)
        chosen = self._choose(found, rarity, seen, left)
        text = " ".join([header, *(each.quoted for each in chosen)]).strip() if chosen else ""
        return shortened(text, lambda part: self._count_tokens(part) <= max_tokens)

    def _choose(
        self, found: Sequence[Statement], rarity: Mapping[str, float], seen: set[str], left: int
    ) -> list[Statement]:
        """Return what fits in `left` tokens, the best for its length first, each for the words that those before lack."""
        costs = [self._count_tokens(f" {each.quoted}") for each in found]
        chosen: dict[int, Statement] = {}
        least = 0.0

        def value(place: int) -> float:
            each = found[place]
            if place in chosen or costs[place] > left or len(each.words - seen) < LEAST_WORDS:
                return 0.0
            if each.kind == "remark" and costs[place] < LEAST_TOKENS:
                return 0.0
            return _worth(each, rarity, seen) / (costs[place] + OVERHEAD_TOKENS)

        while found:
            values = [value(place) for place in range(len(found))]
            best = max(values)
            if best <= least:
                break
            place = values.index(best)
            least = least or best * LEAST_VALUE
            chosen[place] = found[place]
            seen |= found[place].words
            left -= costs[place]
        return [chosen[place] for place in sorted(chosen)]

    def _read_round(self, spoken: SpokenRound) -> Iterator[Statement]:
        for sentence in sentences(spoken.said):
            reading = read(sentence)
            if reading.forget:  # what is to be forgotten is not repeated
                continue
            text = reading.facts or reading.question or sentence
            yield self._statement(text, _kind(sentence))
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


def _worth(statement: Statement, rarity: Mapping[str, float], seen: set[str]) -> float:
    words = math.fsum(sorted(rarity[word] for word in statement.words - seen))
    telling = TELLING if _FIGURE.search(statement.text) or _names_something(statement.text) else 1.0
    return WORTH[statement.kind] * telling * words


def _rarity(statements: Sequence[Statement]) -> dict[str, float]:
    """Return for each word of a thread how rare it is there."""
    counts = Counter(word for each in statements for word in each.words)
    return {word: math.log(1 + len(statements) / count) for word, count in counts.items()}


def _names_something(text: str) -> bool:
    """Whether a word after the first begins with a capital; "I" is none."""
    return any(word[0].isupper() and word.split("'")[0] != "I" for word in text.replace("’", "'").split()[1:])


def _kind(sentence: str) -> Kind:
    reading = read(sentence)
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

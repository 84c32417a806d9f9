"""Make items and moments of what one turn states."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from discreet.prompts.extraction import SaidTurn
from discreet.providers.offline.extraction.clauses import Statement, statements_of
from discreet.providers.offline.extraction.own_words import own_sentences
from discreet.providers.offline.extraction.rules import EDGES, Group, Rules, plain, rules
from discreet.providers.offline.reading import language_of
from discreet.retrieval.dedup import judge
from discreet.retrieval.fact_features import wording
from discreet.retrieval.relative_dates import dated
from discreet.retrieval.tokens import tokens

_PLAIN, _BESIDE = 0.9, 0.75
"""Confidence in what is stated by its form alone, and in what stands beside a question or is told by its topic."""
_MOST_FOLLOWING: Final = 2
"""Sentences about "her" that still belong to the one that says who she is."""
_MINOR: Final = 6
"""Importance up to which a fact may be told by the item before it."""
_LEAST_WORDS = 3
"""Of those that say something, in what a general frame finds; in Vietnamese syllables."""
_HAN: Final = re.compile("[\u4e00-\u9fff]")
_LONGEST: Final = 240
_MAX_TURN: Final = 6_000
"""Characters that are read; who sends more has pasted it."""
_SPACES: Final = re.compile(" {2,}")


@dataclass
class Found:
    """One fact, and where it was stated."""

    text: str
    group: Group
    plainly: bool
    rules: Rules
    sources: list[str] = field(default_factory=list)

    def item(self, known: Sequence[str]) -> dict[str, Any]:
        """Return it as an item of the answer."""
        moments = list(self.moments())
        is_event = self.group.type == "user_fact" and any(each["kind"] == "milestone" for each in moments)
        return {
            "text": self.text,
            "type": "event" if is_event else self.group.type,
            "importance": max([self.group.importance, *(each["importance"] for each in moments)]),
            "confidence": _PLAIN if self.plainly else _BESIDE,
            "sources": list(dict.fromkeys(self.sources)),
            "action": "nothing" if any(_says(each, self.text) for each in known) else "add",
        }

    def says_enough(self) -> bool:
        """Whether it tells something by itself: "I went back" does not. What a frame of its own finds, does."""
        if not self.group.weak or _HAN.search(self.text):
            return True
        words = sum(" " not in token for token in tokens(self.text))
        return words >= _LEAST_WORDS

    def moments(self) -> Iterator[dict[str, Any]]:
        """Give the moment that it is, if it is one."""
        said = plain(self.text)
        for group in self.rules.moments:
            if group.topic.search(said) or group.strong.match(said):
                yield {
                    "text": self.text,
                    "kind": group.type,
                    "importance": group.importance,
                    "confidence": _PLAIN if self.plainly else _BESIDE,
                    "sources": list(dict.fromkeys(self.sources)),
                }
                return


def found_in(turn: SaidTurn) -> list[Found]:
    """Return what `turn` states, in order."""
    text = _SPACES.sub(" ", unicodedata.normalize("NFC", turn.said[:_MAX_TURN]))
    language = rules(language_of(text))
    text = language.respell(text)
    found: list[Found] = []
    following = _MOST_FOLLOWING
    for said in own_sentences(text, language):
        if found and following < _MOST_FOLLOWING and not said.asks and _goes_on(said.text, language):
            joined = found[-1].text + language.stop + dated(said.text, turn.at).rstrip(EDGES)
            if len(joined) <= _LONGEST:
                found[-1].text = joined
            following += 1
            continue
        each = [_found(statement, turn, language) for statement in statements_of(said, language)]
        if each and found and following < _MOST_FOLLOWING and _continues(each[0], found[-1], language):
            found[-1].text += language.stop + each.pop(0).text
            following += 1
        else:
            following = _MOST_FOLLOWING
        if each:
            following = 0
        found += each
    return [each for each in found if each.says_enough()]


def _found(statement: Statement, turn: SaidTurn, language: Rules) -> Found:
    text = dated(statement.text, turn.at)
    return Found(text[:1].upper() + text[1:], statement.group, statement.plainly, language)


def _continues(each: Found, last: Found, language: Rules) -> bool:
    """Whether `each` names nobody and belongs to `last`: "I used to smoke. Quit when I turned forty."."""
    return (
        not each.group.orders
        and each.group.importance <= max(last.group.importance, _MINOR)
        and not language.begins("anew", plain(each.text))
        and len(last.text) + len(each.text) < _LONGEST
    )


def _goes_on(sentence: str, language: Rules) -> bool:
    said = plain(sentence)
    return (
        language.begins("pronoun", said) > 0 and not language.found("veto", said) and not language.found("asks", said)
    )


def _says(known: str, text: str) -> bool:
    """Whether a known fact has the words of `text`, all and no others."""
    before, after = set(wording(known).content), set(wording(text).content)
    alike = len(before & after) / max(len(before | after), 1)
    return judge(text, known, alike) == "same"

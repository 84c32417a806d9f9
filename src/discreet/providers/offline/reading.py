"""Read a user's message by rules: what it states, what it asks, what it wants forgotten. The rules are data."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final, Literal

Language = Literal["en", "vi", "ru", "zh"]
Kind = Literal["social", "forget", "correct", "question", "fact", "remark"]

_ABOUT_MEMORY: Final[tuple[Kind, ...]] = ("forget", "correct")

_STOPS = ".!?…。\uff01\uff1f"
_FULL_WIDTH_STOPS = "。\uff01\uff1f"
_GAPS = " \t,.!;:-–—，。、；：\uff01"  # what stands between a greeting and the sentence

_SENTENCE = re.compile(rf"[^{_STOPS}\n]+(?:[{_STOPS}]+(?!\s|$)[^{_STOPS}\n]+)*[{_STOPS}]*")
"""A stop ends a sentence where white space follows, or in Chinese anywhere, so that `3.5` and `a.b@c.d` stay whole."""

_FULL_WIDTH_END = re.compile(rf"(?<=[{_FULL_WIDTH_STOPS}])")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]+")
_LATIN = re.compile(r"(?<![^\W\u0400-\u04ff\u4e00-\u9fff])[^\W\d_\u0400-\u04ff\u4e00-\u9fff]++(?![\d_])")
"""Words, and no letters of keys and ids: those stand beside digits."""
_VIETNAMESE = re.compile(r"[đơưăĐƠƯĂ\u1ea0-\u1ef9]|\b(?:tôi|là|không|của|và|có|tên|mình|xin|chào)\b", re.IGNORECASE)
"""Letters that, of the four languages, only Vietnamese has, and common words without one of them."""


@dataclass(frozen=True)
class Reading:
    """What the rules see in one message. A part that is not there is empty."""

    language: Language
    facts: str = ""
    """The user's own sentences that state something about them."""
    question: str = ""
    """The sentences that ask."""
    forget: str = ""
    """What is to be forgotten."""
    correct: str = ""
    """What is to take the place of what was said before."""
    taste: bool = False
    """Whether the facts say what the user likes."""


def language_of(text: str) -> Language:
    """Return the language of `text`: that of most of its words (in Chinese characters), English if there are none."""
    han, cyrillic, latin = (len(script.findall(text)) for script in (_HAN, _CYRILLIC, _LATIN))
    if han and han >= max(cyrillic, latin):
        return "zh"
    if cyrillic and cyrillic >= latin:
        return "ru"
    return "vi" if _VIETNAMESE.search(text) else "en"


def read(text: str) -> Reading:
    """Return what `text` states, asks, or wants forgotten or corrected.

    Example:
        >>> reading = read("Hi! I keep two parrots. What do they eat?")
        >>> reading.language, reading.facts, reading.question
        ('en', 'I keep two parrots.', 'What do they eat?')
    """
    language = language_of(text)
    rules = _rules(language)
    sentences = [rules.classify(sentence) for sentence in _sentences(text)]

    def said(*kinds: Kind) -> str:
        return ("" if language == "zh" else " ").join(rest for kind, rest in sentences if kind in kinds)

    if forget := said("forget"):
        return Reading(language, forget=forget)
    if correct := said("correct"):
        return Reading(language, correct=correct)
    # A remark beside a fact belongs to it: "I have a cat. Her name is Mishka."
    facts = said("fact", "remark") if said("fact") else ""
    return Reading(language, facts=facts, question=said("question"), taste=rules.found("taste", facts))


def told(text: str) -> list[str]:
    """Return the sentences of `text` without greetings and thanks, and without what is to be forgotten."""
    rules = _rules(language_of(text))
    rest = (rules.without("social", sentence) for sentence in _sentences(text))
    return [sentence for sentence in rest if sentence and not rules.found("forget", sentence)]


class _Rules:
    """The rules of one language, compiled."""

    def __init__(self, groups: Mapping[str, Sequence[str]], *, spaced: bool) -> None:
        def compiled(group: str, shape: str) -> re.Pattern[str]:
            body = f"(?:{'|'.join(groups[group])})"
            return re.compile(shape.format(rf"(?<!\w){body}(?![\w-])" if spaced else body))

        at_start = {
            group: compiled(group, "^{}")
            for group in ("social", "forget", "correct", "remember", "ask_start", "request")
        }
        self._patterns = at_start | {group: compiled(group, "{}") for group in ("ask", "self", "taste")}

    def found(self, group: str, text: str) -> bool:
        """Return whether a rule of `group` applies to `text`."""
        return self._patterns[group].search(_plain(text)) is not None

    def classify(self, sentence: str) -> tuple[Kind, str]:
        """Return what a sentence is, and the sentence without the greeting in front of it."""
        rest = self.without("social", sentence)
        if not rest:
            return "social", ""
        for kind in _ABOUT_MEMORY:
            if self.found(kind, rest):
                return kind, self.without(kind, rest) or rest
        if self._asks(rest):
            return "question", rest
        if self.found("remember", rest):
            return "fact", self.without("remember", rest) or rest
        if self.found("request", rest):
            return "social", ""
        return ("fact" if self.found("self", rest) else "remark"), rest

    def _asks(self, sentence: str) -> bool:
        """Return whether it ends with a question mark or reads like a question; "remember who I am" does not ask."""
        if sentence.endswith(("?", "\uff1f")):
            return True
        return not self.found("remember", sentence) and (
            self.found("ask_start", sentence) or self.found("ask", sentence)
        )

    def without(self, group: str, sentence: str) -> str:
        """Return `sentence` without what the rules of `group` match at its beginning, however often."""
        pattern = self._patterns[group]
        while (match := pattern.search(_plain(sentence))) and match.end():
            sentence = sentence[match.end() :].lstrip(_GAPS)
        return sentence


def _plain(text: str) -> str:
    """Return `text` for matching: lower case and straight apostrophes, without its last stop, at the same positions."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    return lowered.replace("’", "'").rstrip(" .!…。\uff01")  # the apostrophe of phones


def _sentences(text: str) -> list[str]:
    parts = [part for match in _SENTENCE.findall(text) for part in _FULL_WIDTH_END.split(match)]
    return [part.strip() for part in parts if part.strip()]


@cache
def _rules(language: Language) -> _Rules:
    text = files(__package__).joinpath("rules.toml").read_text(encoding="utf-8")
    return _Rules(tomllib.loads(text)[language], spaced=language != "zh")

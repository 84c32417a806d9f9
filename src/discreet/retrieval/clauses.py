"""Split what a person says about themselves into statements that stand alone, by the rules of clauses.toml. Pure.

A compound of three facts has one vector, one date and one end: an update of one of them would end all three, or none. So
a text is cut wherever both sides are full statements, and nowhere else: in doubt it stays whole.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import Any

from discreet.state.text import SENTENCE_END

MAX_STATEMENTS = 20
"""What has more is a story, and stays whole: one call must not fill a person's memory."""

MAX_JOINTS = 3 * MAX_STATEMENTS
"""Commas, conjunctions and stops that are looked at. Each costs some 50 µs in a text of 4,000 characters."""

_SPACED = r"(?<![\w])(?:{})(?![\w])"
_ENCLOSED = (("(", ")"), ("\uff08", "\uff09"), ("«", "»"), ("“", "”"), ("「", "」"), ("《", "》"), ("<", ">"))
_PAUSES = ",;\uff0c\uff1b"
_EDGES = " \t\n,;.。，；、!\uff01"  # Chinese punctuation is meant


@lru_cache(maxsize=512)
def statements(text: str) -> tuple[str, ...]:
    """Return the statements of `text`, each whole in itself; `text` alone where it can't be cut.

    >>> statements("My name is Linh, I live in Hanoi and like coffee and tea.")
    ('My name is Linh', 'I live in Hanoi', 'I like coffee and tea')
    >>> statements("I have a dog and I love him.")
    ('I have a dog and I love him.',)
    """
    rules = _rules()
    joints = [*islice(rules.joint.finditer(text), MAX_JOINTS + 1)]
    within = [joint for joint in joints if joint.end() < len(text)]
    if not within or len(joints) > MAX_JOINTS or rules.reported.search(text):
        return (text,)
    found = [_Statement(0)]
    ends = [*(joint.start() for joint in joints[1:]), len(text)]
    for joint, end in zip(joints, ends, strict=False):
        start = joint.end()
        part = text[start:end].strip(_EDGES)
        said = text[found[-1].start : joint.start()]
        before = found[-1].subject + said
        belongs = not SENTENCE_END.match(joint[0]) and rules.within.search(said)
        if belongs or _enclosed(text[found[-1].start : start]) or not rules.complete(before):
            continue
        subject = rules.subject_for(part, after=before)
        if subject is not None:
            found[-1].end = joint.start()
            found.append(_Statement(start, subject))
    if not 1 < len(found) <= MAX_STATEMENTS:
        return (text,)
    return tuple(_written(each.subject, text[each.start : each.end]) for each in found)


@dataclass
class _Statement:
    """Where a statement stands, and the subject that it leaves out."""

    start: int
    subject: str = ""
    end: int | None = None


def _enclosed(said: str) -> bool:
    """Whether a bracket or a quotation is open at the end of `said`."""
    return said.count('"') % 2 == 1 or any(said.count(opening) > said.count(end) for opening, end in _ENCLOSED)


def _written(subject: str, part: str) -> str:
    part = part.strip(_EDGES)
    return subject + part[:1].lower() + part[1:] if subject else part[:1].upper() + part[1:]


@dataclass(frozen=True)
class _Rules:
    """The rules of all languages, as one: their words are no one else's."""

    joint: re.Pattern[str]
    introduction: re.Pattern[str]
    subject: re.Pattern[str]
    verb: re.Pattern[str]
    alone: re.Pattern[str]
    bound: re.Pattern[str]
    dependent: re.Pattern[str]
    open: re.Pattern[str]
    within: re.Pattern[str]
    """A clause that depends on what stands before it."""
    reported: re.Pattern[str]
    """A statement of the user that somebody only says, thinks or dreams."""
    carry: Mapping[str, re.Pattern[str]]
    """By subject, with the space behind it where the language has one."""

    def complete(self, said: str) -> bool:
        """Whether `said` is a statement of the user: a subject, a verb, and something behind it or a number between."""
        bare = self._bare(said)
        if self.dependent.match(said.lstrip(_EDGES)) or self.dependent.match(bare):
            return False
        subject = self.subject.match(bare)
        if subject is None:
            verb = self.alone.match(bare)
            return verb is not None and bool(bare[verb.end() :].strip(_EDGES))
        verb = self.verb.search(bare, subject.end()) or self.alone.search(bare, subject.end())
        if verb is None:  # that of "I'm" is part of the subject
            return "'" in subject[0] and bool(bare[subject.end() :].strip(_EDGES))
        return bool(bare[verb.end() :].strip(_EDGES)) or any(map(str.isdigit, bare[subject.end() : verb.start()]))

    def subject_for(self, part: str, *, after: str) -> str | None:
        """Return what `part` lacks to be a statement behind `after`: "", or a subject; None if it is none at all."""
        bare = self._bare(part)
        if self.bound.search(part) or self.dependent.match(part) or self.dependent.match(bare):
            return None
        if self.subject.match(bare):
            return "" if self.complete(part) else None
        subject = self._carried(after)
        if self.alone.match(bare):
            subject = subject or _SUBJECT_OF_ALONE
        elif subject is None or not self.verb.match(bare) or self.open.search(after):
            return None
        return subject if self.complete(subject + part) else None

    def _carried(self, said: str) -> str | None:
        """Return the subject that a statement behind `said` may leave out."""
        said = self._bare(said)
        for subject, rule in self.carry.items():
            begun = rule.match(said)
            if begun and (subject.endswith(" ") or self.verb.match(self._bare(said[begun.end() :]))):
                return subject
        return None

    def _bare(self, text: str) -> str:
        """Return `text` without what may stand before its subject or verb."""
        text = text.lstrip(_EDGES)
        while (match := self.introduction.match(text)) is not None:
            text = text[match.end() :].lstrip(_EDGES)
        return text


_SUBJECT_OF_ALONE = "Я "
"""Of a verb in the first person that comes without one: only Russian has such."""


@cache
def _rules() -> _Rules:
    data = tomllib.loads(files(__package__).joinpath("clauses.toml").read_text(encoding="utf-8"))
    spaced, unspaced = [rules for name, rules in data.items() if name != "zh"], data["zh"]
    groups = ("introduction", "subject", "verb", "alone", "bound", "dependent", "open")
    rules = {group: _either(_all(spaced, group), unspaced[group]) for group in groups}
    carry = {f"{subject} ": _either(each, []) for language in spaced for subject, each in language["carry"].items()}
    carry |= {subject: _either([], each) for subject, each in unspaced["carry"].items()}
    words = _either(_all(spaced, "joint"), unspaced["joint"]).pattern
    return _Rules(
        joint=re.compile(rf"(?:{SENTENCE_END.pattern})|[{_PAUSES}]\s*(?:{words})?|(?:{words})", re.IGNORECASE),
        within=re.compile(rf"(?:{rules['dependent'].pattern})\s*(?:{rules['subject'].pattern})", re.IGNORECASE),
        reported=re.compile(
            rf"(?:{_either(_all(spaced, 'reported'), unspaced['reported']).pattern})[\s,:\uff0c\uff1a]*"
            rf"(?:{_SPACED.format('that|что|rằng|là')})?\s*(?:{rules['subject'].pattern})",
            re.IGNORECASE,
        ),
        carry=carry,
        **rules,
    )


def _all(languages: Iterable[Mapping[str, Any]], group: str) -> list[str]:
    return [rule for rules in languages for rule in rules[group]]


def _either(spaced: Sequence[str], unspaced: Sequence[str]) -> re.Pattern[str]:
    """Return what matches one of the whole words, or one of the others anywhere."""
    choices = [_SPACED.format("|".join(_longest_first(spaced)))] if spaced else []
    if unspaced:
        choices.append("|".join(_longest_first(unspaced)))
    return re.compile("|".join(choices), re.IGNORECASE)


def _longest_first(rules: Iterable[str]) -> list[str]:
    return sorted(rules, key=len, reverse=True)

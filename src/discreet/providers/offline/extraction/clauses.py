"""Cut a sentence into clauses, and decide of each whether it states something about the user."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal

from discreet.providers.offline.extraction.own_words import HOLE, Said
from discreet.providers.offline.extraction.rules import EDGES, Group, Rules, plain

Kind = Literal["strong", "topic", "rest", "bad"]
"""`strong` states a fact of the user by its form, `topic` by what it is about, `rest` belongs to the clause before it,
`bad` asks, orders, supposes, doubts or jokes."""

_MAX_CLAUSES: Final = 40
_COLONS: Final = (":", "\uff1a")
_PLACEHOLDER: Final = re.compile(r"\s*<[A-Z][A-Z0-9_:]*>")
_WORD: Final = re.compile(r"[\u4e00-\u9fff]|\w+")
_FEW_WORDS: Final = 4
"""Fewer say nothing beside a placeholder: "I live in <LOCATION>"."""
_LONGEST: Final = 220
"""Characters of a statement; what comes behind them is a story."""
_PUNCTUATION: Final = (
    r"[,;](?=\s)|\s*[—–]\s*|\s-+\s|:(?=\s)|[\uff0c\uff1b\uff1a\u3002]|\u2026+|\.{2,}|\s\((?=\w)|(?<=\w)\)+(?=\s|$)"
)


@dataclass
class Clause:
    """A clause of a sentence."""

    start: int
    end: int
    kind: Kind
    group: Group | None = None


@dataclass
class Statement:
    """What the user states, in their own words."""

    text: str
    group: Group
    plainly: bool
    """Whether its form says so, and no question stands beside it."""


def statements_of(said: Said, rules: Rules) -> Iterator[Statement]:
    """Give the statements of one sentence in order."""
    clauses = _clauses(said, rules)
    asks = said.asks or any(clause.kind == "bad" for clause in clauses)
    yield from _inside(said, clauses, rules)
    for run in _runs(clauses, plain(said.text), rules):
        group = next(clause.group for clause in run if clause.group)
        text = said.text[run[0].start : run[-1].end]
        text = _trimmed(text, rules)
        text += ")" * (text.count("(") > text.count(")")) + "\uff09" * (text.count("\uff08") > text.count("\uff09"))
        plainly = not asks and any(clause.kind == "strong" for clause in run)
        if text and _says_something(text, rules) and (plainly or not group.plain_only):
            yield Statement(text, group, plainly=plainly)


def _inside(said: Said, clauses: Sequence[Clause], rules: Rules) -> Iterator[Statement]:
    """Give what the clauses that state nothing say by the way: "what can I cook for my vegan wife"."""
    text = plain(said.text)
    for clause in clauses:
        for group in rules.facts if clause.kind == "bad" and HOLE not in text else ():
            if match := group.inside.search(text, clause.start, clause.end):
                own = _trimmed(said.text[slice(*match.span())], rules)
                yield Statement(own, replace(group, weak=False), plainly=False)
                break


def _clauses(said: Said, rules: Rules) -> list[Clause]:
    text = plain(said.text)
    clauses: list[Clause] = []
    before: Kind = "rest"
    personal = rules.found("personal", text)
    for cut, end in _cuts(text, rules):
        start = cut + rules.lead(text[cut:end])
        if start >= end:
            continue
        goes_on = before in {"strong", "topic"} and not said.asks and rules.begins("relative", text[start:end]) > 0
        kind, group = _classified(text[start:end], rules, personal=personal, opens=not clauses, goes_on=goes_on)
        if before == "bad" and group and group.orders and not rules.found("lasting", text[start:end]):
            kind, group = "bad", None  # it tells how to do what was asked for
        if before == "bad" and (
            kind == "rest" or (kind == "topic" and (said.asks or not rules.begins("subject", text[start:end])))
        ):
            kind, group = "bad", None
        clauses.append(Clause(start, end, kind, group))
        if kind == "bad" and text[end : end + 1] in _COLONS and rules.begins("request", text[start:end]):
            break  # what follows is what the request is about
        before = kind
    return _answered(clauses) if said.asks else clauses


def _answered(clauses: list[Clause]) -> list[Clause]:
    """Return the clauses of a question with the one that asks as `bad`, which is the last if no other does."""
    if clauses and not any(clause.kind == "bad" for clause in clauses):
        clauses[-1].kind = "bad"
    return clauses


def _cuts(text: str, rules: Rules) -> list[tuple[int, int]]:
    """Return where clauses may stand."""
    ends = [
        (match.start(), match.end() if match[0].strip(EDGES) == "" else match.start())
        for match in _joints(rules.marks["joint"].pattern).finditer(text)
    ]
    starts = [0, *(after for _, after in ends)]
    stops = [*(before for before, _ in ends), len(text)]
    cuts = [(start, stop) for start, stop in zip(starts, stops, strict=True) if text[start:stop].strip(EDGES)]
    return [(start + _blank(text[start:stop]), stop) for start, stop in cuts[:_MAX_CLAUSES]]


@cache
def _joints(words: str) -> re.Pattern[str]:
    return re.compile(f"(?:{_PUNCTUATION})|(?:{words})")


def _blank(text: str) -> int:
    return len(text) - len(text.lstrip(EDGES))


def _classified(clause: str, rules: Rules, *, personal: bool, opens: bool, goes_on: bool) -> tuple[Kind, Group | None]:
    bare = clause.rstrip(EDGES)
    ordered = next((group for group in rules.facts if group.orders and group.strong.match(bare)), None)
    if ordered and HOLE not in bare:
        return "strong", ordered
    asks = rules.begins("ask", bare) and not goes_on
    if (
        asks
        or HOLE in bare
        or any(rules.found(mark, bare) for mark in ("asks", "veto"))
        or rules.begins("request", bare)
    ):
        return "bad", None
    if goes_on:
        return "rest", None
    late = bare[rules.begins("when", bare) :].lstrip()  # "in May", "yesterday" may stand before any fact
    for group in rules.facts:
        frames = [group.strong, group.opening] if opens else [group.strong]
        if any(frame.match(begun) for frame in frames for begun in (bare, late)):
            return "strong", group
    if personal and rules.begins("own", bare):
        topic = next((group for group in rules.facts if group.topic.search(bare)), None)
        return ("topic", topic) if topic else ("rest", None)
    return "rest", None


def _runs(clauses: Sequence[Clause], text: str, rules: Rules) -> Iterator[list[Clause]]:
    """Give the clauses of each statement: it begins with a fact and goes on with what belongs to it."""
    run: list[Clause] = []
    for clause in clauses:
        said = text[clause.start : clause.end].rstrip(EDGES)
        depends = rules.found("back", said) or (run and rules.begins("pronoun", said))
        weak = clause.kind == "topic" or (clause.group is not None and clause.group.weak)
        is_new = not run or (not weak and rules.begins("anew", said) > 0)
        vague = clause.group is not None and clause.group.weak and rules.found("vague", said)
        begins = not depends and not vague and clause.kind in {"strong", "topic"} and is_new
        if clause.kind == "bad" or (begins and run):
            if run:
                yield run
            run = []
        if clause.kind != "bad" and (begins or run) and (not run or clause.end - run[0].start <= _LONGEST):
            run.append(clause)
    if run:
        yield run


def _trimmed(text: str, rules: Rules) -> str:
    """Return `text` without what introduces it and what would lead on, and with the words that make it stand alone."""
    text = text[rules.lead(plain(text)) :].strip(EDGES)
    if loose := rules.marks["trail"].search(plain(text)):
        text = text[: loose.start()].strip(EDGES)
    for begins, instead in rules.written:
        if match := begins.match(plain(text)):
            return instead + text[match.end() :]
    return text


def _says_something(text: str, rules: Rules) -> bool:
    """Whether more than a placeholder, and what leads to it, is in `text`: "I have a dog called <PERSON>" says something."""
    bare = _PLACEHOLDER.sub("", text)
    if bare == text:
        return True
    said = plain(bare.strip(EDGES))
    while link := rules.marks["link"].search(said):
        said = said[: link.start()].strip(EDGES)
    return not rules.found("holder", said) and len(_WORD.findall(said)) >= _FEW_WORDS

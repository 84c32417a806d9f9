"""The gate's rules: phrases as data, and what they decide about one message."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Literal

from discreet.nodes.memory_gate.text import (
    folded,
    is_plain_vietnamese,
    one_form,
    quiet,
    scripts,
    unrepeated,
    without_accents,
)

Match = Literal["whole", "start", "anywhere", "task", "courtesy", "about_person", "offer"]

_BEFORE, _AFTER = r"(?<!\w)", r"(?:(?<=\W)|(?!\w))"
"""Where a word of a spaced script begins and ends."""
_BEFORE_HAN, _AFTER_HAN = r"(?<![^\W一-鿿])", r"(?:(?<=\W)|(?![^\W一-鿿]))"
"""The same in a text with Chinese, which may stand right beside it. `re` takes ten times as long to compile them."""

_MAX_WHOLE_CHARS = 80
"""Of a message that may be nothing but phrases: greetings are short, and trying all their combinations is not."""
_FENCED = re.compile(r"```.*?(?:```|$)|<(\w+)>.*?</\1>", re.DOTALL)
_QUOTED = re.compile(r'"[^"]*"|`[^`]*`|«[^»]*»|《[^》]*》|(?<!\w)\'[^\n]+?\'(?!\w)')
_LETTERS = re.compile(r"[^\W_]")
_OPENINGS = frozenset({"greeting", "thanks"})
_MAX_OPENINGS = 4
_DELIMITED = re.compile(r"[\"`«《\n]|(?<!\d):(?!//)")
_MIN_OWN_LETTERS = 4
"""Letters outside of quotation marks that make what stands inside somebody else's words."""
_SENTENCE_END = re.compile(r"[.!?。\n]\s*")
_UNDECIDING: tuple[Match, ...] = ("courtesy", "about_person", "offer")
_AFTER_COLON = re.compile(r"(?<!\d):(?!//).*|\s-\s.*", re.DOTALL)


EVERY_SCRIPT = frozenset({"any", "latin", "cyrillic", "han"})
_ESCAPE = re.compile(r"\\.")


def _script(phrase: str) -> str:
    """Return the script whose letters a message must have to hold `phrase`, "any" if it has several or none."""
    found = scripts(one_form(_ESCAPE.sub("", phrase.casefold())))
    return next(iter(found)) if len(found) == 1 else "any"


@dataclass(frozen=True)
class GateRule:
    """Phrases that decide. `spaced` are regular expressions over whole words, `unspaced` over any part of the text."""

    name: str
    retrieve: bool
    match: Match
    spaced: tuple[str, ...] = ()
    unspaced: tuple[str, ...] = ()
    weak: bool = False
    """Whether a score that clearly says the opposite overrules it."""

    def phrases(self, *, plain: bool = False, only: frozenset[str] = EVERY_SCRIPT, has_han: bool = True) -> list[str]:
        """Return the phrases in the scripts `only` as regular expressions; `plain` without Vietnamese accents.

        `has_han` says whether Chinese may stand beside them.
        """
        spaced = [one_form(phrase) for phrase in self.spaced if _script(phrase) in only]
        spaced = [without_accents(phrase) for phrase in spaced] if plain else spaced
        unspaced = [one_form(phrase) for phrase in self.unspaced if _script(phrase) in only]
        before, after = (_BEFORE_HAN, _AFTER_HAN) if has_han else (_BEFORE, _AFTER)
        return [*(rf"{before}(?:{phrase}){after}" for phrase in spaced), *(f"(?:{phrase})" for phrase in unspaced)]


def load_rules(text: str) -> tuple[GateRule, ...]:
    """Read rules from TOML: tables `[[rules]]` with the fields of `GateRule` and phrase lists `en`, `vi`, `ru`, `zh`."""
    return tuple(
        GateRule(
            name=rule["name"],
            retrieve=rule.get("retrieve", True),
            match=rule["match"],
            spaced=tuple(phrase for language in ("en", "vi", "ru") for phrase in rule.get(language, ())),
            unspaced=tuple(rule.get("zh", ())),
            weak=rule.get("weak", False),
        )
        for rule in tomllib.loads(text)["rules"]
    )


@cache
def default_rules() -> tuple[GateRule, ...]:
    """Return the rules that ship: English, Vietnamese, Russian and Chinese."""
    return load_rules(files(__package__).joinpath("rules.toml").read_text(encoding="utf-8"))


_EMPTY = GateRule("empty", retrieve=False, match="whole")
_COURTESY = GateRule("courtesy", retrieve=False, match="whole")


class RuleBook:
    """Rules in their order, compiled at first use for the scripts of a message. Safe to share between threads."""

    def __init__(self, rules: Iterable[GateRule]) -> None:
        self._rules = tuple(rules)
        self._compiled: dict[tuple[bool, frozenset[str]], _Compiled] = {}

    def find(self, text: str) -> GateRule | None:
        """Return the first rule that matches, None if none does. What says nothing, or courtesy only, has rules of its own."""
        lines = folded(text)
        return self._for(lines).find(lines) if _LETTERS.search(lines) else _EMPTY

    def is_about_person(self, answer: str) -> bool:
        """Whether an answer speaks of what the person has told."""
        lines = folded(answer)
        return self._for(lines).has("about_person", lines)

    def asks(self, answer: str) -> bool:
        """Whether an answer ends with a question that is no offer to go on."""
        lines = folded(answer).rstrip()
        return lines.endswith("?") and not self._for(lines).has("offer", _SENTENCE_END.split(lines[:-1])[-1])

    def _for(self, lines: str) -> _Compiled:
        plain = is_plain_vietnamese(lines)
        key = plain, scripts(lines) | {"any"}
        if key not in self._compiled:  # two threads may both compile: the results are the same
            self._compiled[key] = _Compiled(self._rules, plain=plain, only=key[1])
        return self._compiled[key]


class _Compiled:
    """The rules for some scripts and one way to write Vietnamese."""

    def __init__(self, rules: Sequence[GateRule], *, plain: bool, only: frozenset[str]) -> None:
        self._rules = rules
        self._phrases = partial(GateRule.phrases, plain=plain, only=only, has_han="han" in only)
        self._aside = {match: self._any_of(match) for match in _UNDECIDING}
        self._wholes = self._each("whole")
        self._tasks = self._each("task")
        self._searched: dict[GateRule, re.Pattern[str]] = {}

    def find(self, lines: str) -> GateRule | None:
        own, task = self._own_words(lines)
        spoken, plainly = quiet(own), quiet(lines)
        whole = next(filter(None, map(self._nothing_but_phrases, (plainly, unrepeated(plainly), spoken))), None)
        if whole is None and not _LETTERS.search(spoken):
            return _COURTESY
        begins = {0, self._opening(spoken)}
        return next((rule for rule in self._rules if self._hits(rule, spoken, begins, (whole, task))), None)

    def has(self, match: Match, text: str) -> bool:
        """Whether folded `text` has a phrase of the rules of this kind."""
        return self._aside[match].search(text) is not None

    def _hits(self, rule: GateRule, text: str, begins: Iterable[int], found: tuple[GateRule | None, ...]) -> bool:
        if rule.match not in {"start", "anywhere"}:
            return rule in found
        if rule not in self._searched:
            self._searched[rule] = _either(self._phrases(rule), "" if rule.match == "anywhere" else r"[\W_]*")
        pattern = self._searched[rule]
        if rule.match == "anywhere":
            return pattern.search(text) is not None
        return any(pattern.match(text, begin) for begin in begins)

    def _each(self, match: Match) -> list[tuple[GateRule, re.Pattern[str]]]:
        return [
            (rule, _expression(rf"[\W_]*{phrase}"))
            for rule in self._rules
            if rule.match == match
            for phrase in self._phrases(rule)
        ]

    def _any_of(self, match: Match) -> re.Pattern[str]:
        return _either([phrase for rule in self._rules if rule.match == match for phrase in self._phrases(rule)])

    def _nothing_but_phrases(self, text: str) -> GateRule | None:
        """Return the rule of the first phrase, if the message consists of phrases of the rules of kind "whole"."""
        if len(text) > _MAX_WHOLE_CHARS:
            return None
        reached: dict[int, GateRule] = {}
        waiting: list[tuple[int, GateRule | None]] = [(0, None)]
        while waiting:
            position, first = waiting.pop()
            for rule, pattern in self._wholes:
                found = pattern.match(text, position)
                if found is None or found.end() in reached or found.end() == position:
                    continue
                reached[found.end()] = first or rule
                if not _LETTERS.search(text, found.end()):
                    return first or rule
                waiting.append((found.end(), first or rule))
        return None

    def _opening(self, text: str) -> int:
        """Return where a message goes on after its greeting or thanks."""
        begin = 0
        for _ in range(_MAX_OPENINGS):
            found = [pattern.match(text, begin) for rule, pattern in self._wholes if rule.name in _OPENINGS]
            end = max((each.end() for each in found if each), default=begin)
            if end == begin:
                break
            begin = end
        return begin

    def _own_words(self, lines: str) -> tuple[str, GateRule | None]:
        """Return what the person says themselves, without courtesy and without the material of a task; and the task's rule."""
        asked = self._aside["courtesy"].sub(" ", lines).strip()
        first, last = asked.partition("\n")[0], asked.rpartition("\n")[2]
        opened = asked[self._opening(asked) :]
        for rule, pattern in self._tasks:
            if (found := pattern.match(opened)) or (found := pattern.match(asked)):
                return _without_material(found), rule
        if first != last:
            for rule, pattern in self._tasks:
                if found := pattern.match(last):
                    return _without_material(found), rule
        unquoted = _QUOTED.sub(" ", asked)
        return (unquoted if len(_LETTERS.findall(unquoted)) >= _MIN_OWN_LETTERS else asked), None


def _without_material(task: re.Match[str]) -> str:
    """Return the text in which `task` was found, without what the task is done to."""
    text = task.string
    start, end = task.span("material") if "material" in task.re.groupindex else (-1, -1)
    mark = _DELIMITED.search(text, max(start, 0))
    if start == _lead(text) or (start > 0 and mark is None):
        text = f"{text[:start]} \n{text[end:]}".strip()
    else:  # a mark tells better than words where the material begins
        begin = start if start > 0 else task.end()
        text = text[:begin] + _AFTER_COLON.sub(" ", text[begin:], count=1)
    return _QUOTED.sub(" ", _FENCED.sub(" ", text)).strip().partition("\n")[0]


def _lead(text: str) -> int:
    """Return where the first word of `text` begins."""
    return first.start() if (first := _LETTERS.search(text)) else 0


def _either(phrases: Sequence[str], before: str = "") -> re.Pattern[str]:
    """Return what finds one of the phrases, of none nothing."""
    return _expression(f"{before}(?:{'|'.join(phrases) or '(?!)'})")


@cache
def _expression(source: str) -> re.Pattern[str]:
    """Compile once what several scripts share; the cache of `re` is too small for it."""
    return re.compile(source, re.DOTALL)

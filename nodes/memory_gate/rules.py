"""The gate's rules: phrases as data, and what they decide about one message."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Literal

from discreet.nodes.memory_gate.decision import GateDecision
from discreet.nodes.memory_gate.likeness import Round
from discreet.nodes.memory_gate.text import (
    folded,
    is_plain_vietnamese,
    one_form,
    quiet,
    scripts,
    unrepeated,
    without_accents,
)

Match = Literal["whole", "start", "anywhere", "task", "courtesy", "question", "about_person", "offer"]
NOTHING_BEFORE: frozenset[Round] = frozenset({"none"})

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
_EVERY_OPENING = _OPENINGS | {"chit_chat"}
_MAX_OPENINGS = 4
_MAX_FOLLOW_UP_CHARS = 160
"""Of a message that is read as a follow-up: a longer one says itself what it is about."""
_DELIMITED = re.compile(r"[\"`«《\n]|(?<!\d):(?!//)")
_MIN_OWN_LETTERS = 4
"""Letters outside of quotation marks that make what stands inside somebody else's words."""
_SENTENCE_END = re.compile(r"[.!?。\n]\s*")
_UNDECIDING = frozenset({"courtesy", "question", "about_person", "offer"})
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
    """Whether prototypes overrule it that clearly say the opposite."""
    after: frozenset[Round] = frozenset()
    """Rounds after which it is looked at; none: after each."""
    by_round: bool = False
    """Whether it skips after a round of general knowledge or a task, and retrieves otherwise, whatever `retrieve` says."""
    question: bool = False
    """Whether it is for questions only."""

    @property
    def follows(self) -> bool:
        """Whether it looks at the round before."""
        return self.by_round or bool(self.after)

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
            after=frozenset(rule.get("after", ())),
            by_round=rule.get("by_round", False),
            question=rule.get("question", False),
        )
        for rule in tomllib.loads(text)["rules"]
    )


@cache
def default_rules() -> tuple[GateRule, ...]:
    """Return the rules that ship: English, Vietnamese, Russian and Chinese."""
    return load_rules(files(__package__).joinpath("rules.toml").read_text(encoding="utf-8"))


class RuleBook:
    """Rules in their order, compiled at first use for the scripts of a message. Safe to share between threads.

    Compiling all of them takes a second, those of one script, as far as they are reached, a tenth of that.
    """

    def __init__(self, rules: Iterable[GateRule]) -> None:
        self._rules = tuple(rules)
        self._wholes = frozenset(rule.name for rule in self._rules if rule.match == "whole")
        self._compiled: dict[tuple[bool, frozenset[str]], _Compiled] = {}

    def decide(self, text: str, before: Callable[[], frozenset[Round]] | None = None) -> GateDecision | None:
        """Return what the first rule that matches says, None if none does.

        `before` tells of the round before, None: there is none. It is asked where a rule that matches depends on it.
        """
        lines = folded(text)
        if not _LETTERS.search(lines):
            return GateDecision(retrieve=False, reason="empty")
        return self._for(lines).decide(lines, before)

    def is_about_person(self, answer: str) -> bool:
        """Whether an answer speaks of what the person has told."""
        lines = folded(answer)
        return self._for(lines).finds("about_person", lines)

    def asks(self, answer: str) -> bool:
        """Whether an answer ends with a question that is no offer to go on."""
        lines = folded(answer).rstrip()
        return lines.endswith("?") and not self._for(lines).finds("offer", _SENTENCE_END.split(lines[:-1])[-1])

    def is_small_talk(self, decision: GateDecision) -> bool:
        """Whether rules decided that nothing was said that could be followed on."""
        return decision.reason in {"empty", "courtesy", *self._wholes}

    def _for(self, lines: str) -> _Compiled:
        plain = is_plain_vietnamese(lines)
        key = plain, scripts(lines) | {"any"}
        if key not in self._compiled:  # two threads may both compile: the results are the same
            self._compiled[key] = _Compiled(self._rules, plain=plain, only=key[1])
        return self._compiled[key]


class _Compiled:
    """The rules for some scripts and one way to write Vietnamese."""

    def __init__(self, rules: Sequence[GateRule], *, plain: bool, only: frozenset[str]) -> None:
        phrases = partial(GateRule.phrases, plain=plain, has_han="han" in only)

        def each(match: Match) -> list[tuple[GateRule, re.Pattern[str]]]:
            return [
                (rule, _expression(rf"[\W_]*{phrase}"))
                for rule in rules
                if rule.match == match
                for phrase in phrases(rule, only=only)
            ]

        courtesy = [phrase for rule in rules if rule.match == "courtesy" for phrase in phrases(rule, only=only)]
        self._phrases, self._only = phrases, only
        self._courtesy = _expression("|".join(courtesy) or "(?!)")
        self._wholes = each("whole")
        self._tasks = each("task")
        self._rules = [rule for rule in rules if rule.match != "courtesy"]
        self._searched: dict[int, list[re.Pattern[str]]] = {}

    def decide(self, lines: str, before: Callable[[], frozenset[Round]] | None) -> GateDecision | None:
        plainly = quiet(lines)
        own, task = self._own_words(lines)
        spoken = quiet(own)
        whole = next(filter(None, map(self._nothing_but_phrases, (plainly, unrepeated(plainly), spoken))), None)
        if whole is None and not _LETTERS.search(spoken):
            return GateDecision(retrieve=False, reason="courtesy")
        short = len(spoken) <= _MAX_FOLLOW_UP_CHARS
        begins = {0, self._opening(spoken)}
        later = self._following(spoken) | begins if short else begins
        for number, rule in enumerate(self._rules):
            if rule.match in _UNDECIDING or (rule.follows and not short):
                continue
            if rule.after and before is None and "none" not in rule.after:
                continue
            if rule.match == "start":
                hit = self._starts(number, spoken, later if rule.by_round else begins)
            elif rule.match == "anywhere":
                hit = any(pattern.search(spoken) for pattern in self._patterns(number))
            else:
                hit = rule is (whole if rule.match == "whole" else task)
            if not hit or (rule.question and not ("?" in spoken or self.finds("question", spoken))):
                continue
            known = before() if rule.follows and before is not None else NOTHING_BEFORE
            if rule.after and not rule.after & known:
                continue
            retrieve = "general" not in known if rule.by_round else rule.retrieve
            return GateDecision(retrieve=retrieve, reason=rule.name)
        return None

    def finds(self, match: Match, text: str) -> bool:
        """Whether folded `text` has a phrase of the rules of this kind."""
        return any(
            pattern.search(text)
            for number, rule in enumerate(self._rules)
            if rule.match == match
            for pattern in self._patterns(number)
        )

    def _starts(self, number: int, text: str, begins: Iterable[int]) -> bool:
        return any(pattern.match(text, begin) for pattern in self._patterns(number) for begin in begins)

    def _following(self, text: str) -> set[int]:
        """Return where a follow-up may begin: after "ok", too, but no character of 你是谁 is an opening."""
        return {begin for begin in self._beginnings(text, _EVERY_OPENING) if not text[begin - 1 : begin + 1].isalnum()}

    def _patterns(self, number: int) -> list[re.Pattern[str]]:
        """Return the expressions of a rule of kind "start" or "anywhere", one a script; many are never reached."""
        if number not in self._searched:
            rule = self._rules[number]
            by_script = (self._phrases(rule, only=frozenset({script})) for script in sorted(self._only))
            any_of = ["|".join(phrases) for phrases in by_script if phrases]
            self._searched[number] = [
                _expression(rf"[\W_]*(?:{phrases})" if rule.match == "start" else phrases) for phrases in any_of
            ]
        return self._searched[number]

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
        return self._beginnings(text, _OPENINGS)[-1]

    def _beginnings(self, text: str, openings: frozenset[str]) -> list[int]:
        """Return where a message may begin: at its start, and after each of the phrases that open it."""
        begins = [0]
        for _ in range(_MAX_OPENINGS):
            ends = [
                found.end()
                for rule, pattern in self._wholes
                if rule.name in openings and (found := pattern.match(text, begins[-1]))
            ]
            if not ends or max(ends) == begins[-1]:
                break
            begins.append(max(ends))
        return begins

    def _own_words(self, lines: str) -> tuple[str, GateRule | None]:
        """Return what the person says themselves, without courtesy and without the material of a task; and the task's rule."""
        asked = self._courtesy.sub(" ", lines).strip()
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


@cache
def _expression(source: str) -> re.Pattern[str]:
    """Compile once what several scripts share; the cache of `re` is too small for it."""
    return re.compile(source, re.DOTALL)

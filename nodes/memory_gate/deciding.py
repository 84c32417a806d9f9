"""Put rules and the fitted score together, and look at the round before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from discreet.nodes.memory_gate.rules import GateRule, RuleBook, default_rules
from discreet.nodes.memory_gate.scorer import Round, score
from discreet.ports import SpokenRound

SKIP_BELOW, RETRIEVE_ABOVE = -0.1, 0.05
OVERRULE_ABOVE = 0.1
"""Scores: 1 is what needs memory, -1 what does not. Between the first two a message is unsure, and retrieves; above the third the
score overrules a weak rule that skips. Cross-validated on `tune`: 12 of 1,275 missed and 102 of 1,255 searched in vain from
-0.1 on, 10 and 121 from -0.15, 14 and 85 from -0.05."""


@dataclass(frozen=True)
class GateDecision:
    """Whether to search long-term memory, and the rule that said so; "scored" and "unsure" are the fitted score's."""

    retrieve: bool
    reason: str


UNSURE = GateDecision(retrieve=True, reason="unsure")
"""What nothing decides: memory that was not needed costs a search, memory that was missed costs the answer."""


class Decide(Protocol):
    """What decides about a message, and may look at the round before it."""

    def __call__(self, text: str, previous: SpokenRound | None = None, /) -> GateDecision:
        """Decide about `text`; `previous` is None where there was no round before it, or it was not answered."""


def make_decide(rules: Iterable[GateRule], *, scored: bool = True) -> Decide:
    """Return a `decide` over these rules, in their order, and over the fitted score for what none matches or a weak rule skips.

    If not `scored`, and where the local embedding is missing or fails, what no rule matches retrieves as "unsure". The
    function blocks: rules are compiled at its first call, and a message for the score is embedded.
    """
    book = RuleBook(rules)

    def decide(text: str, previous: SpokenRound | None = None, /) -> GateDecision:
        rule = book.find(text)
        if rule is not None and rule.weak and rule.match == "whole" and previous and book.asks(previous.answered):
            rule = None  # "yes" is no small talk where it answers a question
        if rule is not None and (rule.retrieve or not rule.weak or rule.match == "whole" or not scored):
            return GateDecision(retrieve=rule.retrieve, reason=rule.name)
        found = score(text, round_before(previous, book, score)) if scored else None
        if rule is not None:
            overruled = found is not None and found > OVERRULE_ABOVE
            return GateDecision(retrieve=overruled, reason="scored" if overruled else rule.name)
        if found is None or SKIP_BELOW <= found <= RETRIEVE_ABOVE:
            return UNSURE
        return GateDecision(retrieve=found > 0, reason="scored")

    return decide


def round_before(previous: SpokenRound | None, book: RuleBook, scored: Callable[[str, Round], float | None]) -> Round:
    """Return what `previous` was: of its message what rules say, or a score. In doubt it was about the person."""
    if previous is None:
        return "none"
    if book.asks(previous.answered):
        return "asked"
    if book.is_about_person(previous.answered):
        return "personal"
    rule = book.find(previous.said)
    if rule is not None:
        return "personal" if rule.retrieve else "none" if rule.match == "whole" else "general"
    found = scored(previous.said, "none")
    return "general" if found is not None and found < SKIP_BELOW else "personal"


@cache
def _default_decide() -> Decide:
    return make_decide(default_rules())


@cache
def _default_rules_only() -> Decide:
    return make_decide(default_rules(), scored=False)


def decide(text: str, previous: SpokenRound | None = None) -> GateDecision:
    """Decide for one message by the rules and weights that ship; no chat model, no network. It may block.

    `previous` is the round before it, which tells what "And when is it?" is about; without one that retrieves.

    Example:
        >>> decide("Hi, what did I tell you last time?").retrieve
        True
        >>> decide("Xin chào!")
        GateDecision(retrieve=False, reason='greeting')
        >>> decide("And how long do they live?", SpokenRound(said="What do axolotls eat?", answered="Worms."))
        GateDecision(retrieve=False, reason='scored')
    """
    return _default_decide()(text, previous)


def decide_by_rules(text: str, previous: SpokenRound | None = None) -> GateDecision:
    """Decide for one message by the rules that ship; what none matches is "unsure" and retrieves."""
    return _default_rules_only()(text, previous)

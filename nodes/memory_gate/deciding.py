"""Put rules and prototypes together."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Protocol

from discreet.nodes.memory_gate.before import kind_of, round_before
from discreet.nodes.memory_gate.decision import UNSURE, GateDecision
from discreet.nodes.memory_gate.prototypes import Neighbours, Prototype, default_prototypes
from discreet.nodes.memory_gate.rules import GateRule, RuleBook, default_rules
from discreet.ports import SpokenRound


class Decide(Protocol):
    """What decides about a message, and may look at the round before it."""

    def __call__(self, text: str, previous: SpokenRound | None = None, /) -> GateDecision:
        """Decide about `text`; `previous` is None where there was no round before it, or it was not answered."""


def make_decide(rules: Iterable[GateRule], prototypes: Iterable[Prototype] = ()) -> Decide:
    """Return a `decide` over these rules, in their order, and over the prototypes for what none matches or a weak rule skips.

    Without prototypes, and where the local embedding is missing or fails, what no rule matches retrieves as "unsure".
    The function blocks: rules are compiled and vectors are read at its first call (a tenth of a second, a second where Chinese stands beside other letters), and a message for
    the prototypes is embedded. Prototypes of your own are embedded at the first call that needs them, 15 ms each.
    """
    rules, prototypes = tuple(rules), tuple(prototypes)

    @cache
    def book() -> RuleBook:
        return RuleBook(rules)

    neighbours = Neighbours(prototypes) if prototypes else None
    recall = neighbours.remembered if neighbours else lambda _said: None
    weak = {rule.name: rule for rule in rules if rule.weak}

    def decide(text: str, previous: SpokenRound | None = None, /) -> GateDecision:
        before = cache(lambda: round_before(previous, book(), recall))
        decision = book().decide(text, before if previous else None)
        if neighbours is None:
            return decision or UNSURE
        if decision is None:
            return neighbours.decide(text, kind_of(before()))
        if decision.retrieve or (rule := weak.get(decision.reason)) is None:
            return decision
        return neighbours.overrule(text, kind_of(before()) if rule.follows else "none") or decision

    return decide


@cache
def _default_decide() -> Decide:
    return make_decide(default_rules(), default_prototypes())


@cache
def _default_rules_only() -> Decide:
    return make_decide(default_rules())


def decide(text: str, previous: SpokenRound | None = None) -> GateDecision:
    """Decide for one message by the rules and prototypes that ship; no chat model, no network. It may block.

    `previous` is the round before it, which tells what "And when is it?" is about; without one that retrieves.

    Example:
        >>> decide("Hi, what did I tell you last time?").retrieve
        True
        >>> decide("Xin chào!")
        GateDecision(retrieve=False, reason='greeting')
        >>> decide("And how long do they live?", SpokenRound(said="What do axolotls eat?", answered="Worms."))
        GateDecision(retrieve=False, reason='follow_up')
    """
    return _default_decide()(text, previous)


def decide_by_rules(text: str, previous: SpokenRound | None = None) -> GateDecision:
    """Decide for one message by the rules that ship; what none matches is "unsure" and retrieves."""
    return _default_rules_only()(text, previous)

"""The round before a message, which tells what a follow-up is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from langchain_core.messages import BaseMessage

from discreet.nodes.memory_gate.decision import GateDecision
from discreet.nodes.memory_gate.likeness import Round
from discreet.nodes.memory_gate.rules import NOTHING_BEFORE, RuleBook
from discreet.nodes.rounds import rounds_of
from discreet.nodes.turn import turn_start
from discreet.ports import SpokenRound
from discreet.redaction import untagged

_SMALL_TALK: Final = re.compile(
    "like_(greeting|thanks|goodbye|acknowledgement|chit_chat|closing|farewell|gratitude|banter|noise|pleasantry|obliged|idiom)"
)
"""What prototypes say of messages that nothing can follow on."""


def previous_round(messages: Sequence[BaseMessage]) -> SpokenRound | None:
    """Return the round before the running turn as memories have its text, None if there is none or it was not answered."""
    earlier = messages[: turn_start(messages) or 0]
    start = turn_start(earlier)
    rounds = [] if start is None else rounds_of(earlier[start:])
    if not rounds:
        return None
    spoken = rounds[-1].spoken
    return SpokenRound(said=untagged(spoken.said), answered=untagged(spoken.answered))


def round_before(
    previous: SpokenRound | None, book: RuleBook, recall: Callable[[str], GateDecision | None]
) -> frozenset[Round]:
    """Return what `previous` was: of its message what `recall` says, or the rules. In doubt it was about the person."""
    if previous is None:
        return NOTHING_BEFORE
    about = _about(previous, book, recall)
    return frozenset({about, "asked"}) if book.asks(previous.answered) else frozenset({about})


def kind_of(before: frozenset[Round]) -> Round:
    """Return what of a round prototypes are compared by."""
    return "asked" if "asked" in before else next(iter(before))


def _about(previous: SpokenRound, book: RuleBook, recall: Callable[[str], GateDecision | None]) -> Round:
    if book.is_about_person(previous.answered):
        return "personal"
    decision = recall(previous.said) or book.decide(previous.said)
    if decision is None or decision.retrieve:
        return "personal"
    return "none" if book.is_small_talk(decision) or _SMALL_TALK.fullmatch(decision.reason) else "general"

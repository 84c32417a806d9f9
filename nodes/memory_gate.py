"""Decide before any database work whether this turn needs long-term memory."""

from __future__ import annotations

import asyncio
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from discreet.metrics import gate_decisions
from discreet.nodes.node import Node, State, Update, read
from discreet.nodes.turn import turn_text
from discreet.state.conversation import ConversationState, Gate

Match = Literal["whole", "start", "anywhere"]

MAX_CHARS = 2_000
"""Only the beginning and the end of a longer message are read: the rest is material, not the question."""

_NOISE = re.compile(r"[^\w\s'+*/=×÷()?.,-]+")


@dataclass(frozen=True)
class GateDecision:
    """Whether to search long-term memory, and which rule said so."""

    retrieve: bool
    reason: str


@dataclass(frozen=True)
class GateRule:
    """Phrases that decide. `spaced` are regular expressions over whole words, `unspaced` over any part of the text."""

    name: str
    retrieve: bool
    match: Match
    spaced: tuple[str, ...] = ()
    unspaced: tuple[str, ...] = ()

    def pattern(self) -> re.Pattern[str]:
        """Return one expression that matches where the rule applies."""
        words = [rf"(?<!\w)(?:{'|'.join(self.spaced)})(?!\w)"] if self.spaced and self.match != "start" else []
        starts = [rf"(?:{'|'.join(self.spaced)})"] if self.spaced and self.match == "start" else []
        any_of = "|".join([*words, *starts, *self.unspaced])
        if self.match == "whole":
            return re.compile(rf"^[\W_]*(?:(?:{any_of})[\W_]*)+$")
        return re.compile(rf"^\W*(?:{any_of})" if self.match == "start" else any_of)


def load_rules(text: str) -> tuple[GateRule, ...]:
    """Read rules from TOML: tables `[[rules]]` with `name`, `retrieve`, `match` and phrase lists `en`, `vi`, `ru`, `zh`."""
    return tuple(
        GateRule(
            name=rule["name"],
            retrieve=rule["retrieve"],
            match=rule["match"],
            spaced=tuple(phrase for language in ("en", "vi", "ru") for phrase in rule.get(language, ())),
            unspaced=tuple(rule.get("zh", ())),
        )
        for rule in tomllib.loads(text)["rules"]
    )


@cache
def default_rules() -> tuple[GateRule, ...]:
    """Return the rules that ship: English, Vietnamese, Russian and Chinese."""
    return load_rules(files(__package__).joinpath("memory_gate_rules.toml").read_text(encoding="utf-8"))


def make_decide(rules: Iterable[GateRule]) -> Callable[[str], GateDecision]:
    """Return a `decide` over these rules, in their order; what none matches retrieves."""
    compiled = [(rule, rule.pattern()) for rule in rules]

    def decide(text: str) -> GateDecision:
        normal = _normalise(text)
        if not normal:
            return GateDecision(retrieve=False, reason="empty")
        for rule, pattern in compiled:
            if pattern.search(normal):
                return GateDecision(retrieve=rule.retrieve, reason=rule.name)
        return GateDecision(retrieve=True, reason="unsure")

    return decide


@cache
def _default_decide() -> Callable[[str], GateDecision]:
    return make_decide(default_rules())


def decide(text: str) -> GateDecision:
    """Decide for one message by the rules that ship; no model, no network.

    Example:
        >>> decide("Hi, what did I tell you last time?").retrieve
        True
        >>> decide("Xin chào!")
        GateDecision(retrieve=False, reason='greeting')
    """
    return _default_decide()(text)


def make_memory_gate(*, decide: Callable[[str], GateDecision] = decide, messages_key: str = "messages") -> Node:
    """Return the node `memory_gate`; `decide` may block, it runs in a thread."""

    async def memory_gate(state: State) -> Update:
        text = turn_text(read(state, messages_key, ()))
        decision = await asyncio.to_thread(decide, text)
        gate_decisions.labels("retrieve" if decision.retrieve else "skip").inc()
        return {"gate": Gate(retrieve=decision.retrieve, reason=decision.reason)}

    return Node("memory_gate", memory_gate)


def route_after_gate(state: ConversationState) -> Literal["retrieve_memories", "assistant"]:
    """Return the next node: past retrieval on skip."""
    gate = state.get("gate")
    return "retrieve_memories" if gate is None or gate["retrieve"] else "assistant"


def _normalise(text: str) -> str:
    """Return lower-case NFKC text with emoji and most punctuation as spaces, its middle cut out when it is long."""
    if len(text) > MAX_CHARS:
        text = f"{text[: MAX_CHARS // 2]} {text[-MAX_CHARS // 2 :]}"
    folded = unicodedata.normalize("NFKC", text).replace("’", "'").casefold()  # what phones type
    return " ".join(_NOISE.sub(" ", folded).split())

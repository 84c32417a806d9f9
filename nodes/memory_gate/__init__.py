"""Decide before any database work whether this turn needs long-term memory.

Rules look first (`rules.toml`). What none decides goes to a small chat model where one is configured, else to what labelled
prototypes (`prototypes.toml`, `turns.toml`) say about messages like it; they also overrule rules that skip and are marked weak.
What stays unsure retrieves. Follow-ups are decided by the round before.
"""

from discreet.nodes.memory_gate.deciding import decide, decide_by_rules, make_decide
from discreet.nodes.memory_gate.decision import GateDecision
from discreet.nodes.memory_gate.node import make_memory_gate, route_after_gate
from discreet.nodes.memory_gate.prototypes import Prototype, default_prototypes, load_prototypes
from discreet.nodes.memory_gate.rules import GateRule, default_rules, load_rules

__all__ = [
    "GateDecision",
    "GateRule",
    "Prototype",
    "decide",
    "decide_by_rules",
    "default_prototypes",
    "default_rules",
    "load_prototypes",
    "load_rules",
    "make_decide",
    "make_memory_gate",
    "route_after_gate",
]

"""Decide before any database work whether this turn needs long-term memory.

Rules look first (`rules.toml`). What none decides goes to a small chat model where one is configured, else to a score that was fitted
to labelled turns (`tools/gate_weights.py`); it also overrules rules that skip and are marked weak. What stays unsure retrieves.
"""

from discreet.nodes.memory_gate.deciding import GateDecision, decide, decide_by_rules, make_decide
from discreet.nodes.memory_gate.node import make_memory_gate, route_after_gate
from discreet.nodes.memory_gate.rules import GateRule, default_rules, load_rules

__all__ = [
    "GateDecision",
    "GateRule",
    "decide",
    "decide_by_rules",
    "default_rules",
    "load_rules",
    "make_decide",
    "make_memory_gate",
    "route_after_gate",
]

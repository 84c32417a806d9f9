"""The table of scenarios, and what they ask of a policy."""

from __future__ import annotations

from leak_battery import agents, channels, deltas, functional, inputs, packets, subgraphs, updates
from leak_battery.play import Scenario

SCENARIOS: dict[str, Scenario] = {
    name: scenario
    for module in (agents, inputs, channels, subgraphs, packets, functional, updates, deltas)
    for name, scenario in module.SCENARIOS.items()
}

TALKS = [
    name for name, scenario in SCENARIOS.items() if scenario.conversation and scenario.has_heart and scenario.restarts
]
"""Those that answer whatever is said to them, whatever became of the turn before."""

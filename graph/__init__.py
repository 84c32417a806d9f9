"""The template graph and its wiring: the one composition root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy_names import loaded_on_demand
from discreet.nodes.background_tasks import drain

if TYPE_CHECKING:
    from discreet.graph.memory_agent import build_graph
    from discreet.graph.runner import TurnRunner

__all__ = ["TurnRunner", "build_graph", "drain"]

__getattr__ = loaded_on_demand(__name__, {"TurnRunner": "runner", "build_graph": "memory_agent"})

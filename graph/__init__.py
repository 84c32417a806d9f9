"""The template graph and its wiring: the one composition root."""

from discreet.graph.memory_agent import build_graph
from discreet.graph.runner import TurnRunner
from discreet.nodes.background_tasks import drain

__all__ = ["TurnRunner", "build_graph", "drain"]

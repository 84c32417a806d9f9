"""The template graph and its wiring: the one composition root."""

from discreet.graph.memory_agent import build_graph

__all__ = ["build_graph"]

"""Keep what a graph says apart from what a server keeps: raw values in RAM for the nodes, placeholders for all else."""

from discreet.graph.guard.graph import GuardedGraph, guarded

__all__ = ["GuardedGraph", "guarded"]

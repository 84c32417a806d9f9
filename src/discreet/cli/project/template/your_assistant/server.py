"""What langgraph.json names. Wiring only: a class that is defined here could not be read back from a checkpoint."""

from __future__ import annotations

from discreet.graph.guard import guarded
from discreet.graph.server import checkpointer, extract, store
from discreet.storage.shared import process_storage
from your_assistant.graph import make_graph

__all__ = ["checkpointer", "extract", "graph", "store"]

graph = guarded(
    make_graph(process_storage).compile(name="your-assistant"),
    vault=process_storage.vault,
    short_term=process_storage.short_term,
)

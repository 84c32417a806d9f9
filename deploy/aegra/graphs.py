"""The graphs of aegra.json. One of your own: `mine = served(guarded(my_builder.compile()))`."""

from discreet.api.aegra.serving import served
from discreet.graph.server import extract, graph

__all__ = ["agent", "extract"]

agent = served(graph)

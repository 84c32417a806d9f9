"""Refuse the input of a run that its graph would refuse, while there is a request to answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import uuid5

from discreet.api.ingress.routes import Kind
from discreet.errors import InputError
from discreet.graph.guard import GuardedGraph
from discreet.nodes.input_check import InputCheck

ChecksOf = Callable[[str], InputCheck | None]
"""From an assistant's id to what its graph takes; None if that is not known."""

SERVER: Final = "langgraph_api.graph"
"""Where the server has its graphs, by name, and the namespace of the ids of the assistants that it makes of them."""

FIELD: Final = "input"


def check_of(assistant: str) -> InputCheck | None:
    """Return what the graph of an assistant takes, as far as the server that runs in this process tells it.

    An assistant goes by the name of its graph, or by the id that the server made of it. Those that people made are known
    where there is one graph only.
    """
    server = sys.modules.get(SERVER)
    graphs: Mapping[str, Any] = getattr(server, "GRAPHS", {})
    namespace = getattr(server, "NAMESPACE_GRAPH", None)
    names = [name for name in graphs if assistant == name or (namespace and assistant == str(uuid5(namespace, name)))]
    name = next(iter(names or (graphs if len(graphs) == 1 else ())), None)
    graph = graphs.get(name) if name else None
    return graph.input_check if isinstance(graph, GuardedGraph) else None


def check_input(body: Any, kind: Kind, checks: ChecksOf) -> None:
    """Refuse a body that creates runs, or one by a command, if the graph of one would refuse its input.

    It hashes payloads: call it in a thread.

    Raises:
        InputError: As the graph would; `fields` says which run of a batch.
    """
    if kind is Kind.RUNS and isinstance(body, list):
        for number, run in enumerate(body):
            _check(run, f"{number}.{FIELD}", checks)
    elif kind is Kind.RUN:
        _check(body, FIELD, checks)
    elif kind is Kind.COMMAND and isinstance(body, dict) and body.get("method") == "run.start":
        _check(body.get("params"), f"params.{FIELD}", checks)


def _check(run: Any, field: str, checks: ChecksOf) -> None:
    assistant = run.get("assistant_id") if isinstance(run, dict) else None
    check = checks(assistant) if isinstance(assistant, str) else None
    if check is None:
        return
    try:
        check.input(run.get("input"))
    except InputError as error:
        error.fields = ((field, str(error)),)
        raise

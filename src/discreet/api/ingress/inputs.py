"""Refuse the input of a run that its graph would refuse, while there is a request to answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid5

from discreet.api.ingress.routes import Kind
from discreet.errors import EmptyInputError, InputError, InvalidContextError, UnsupportedInputError
from discreet.graph.guard import GuardedGraph
from discreet.nodes.input_check import InputCheck
from discreet.state.context import Context, check_context

SERVER: Final = "langgraph_api.graph"
"""Where the server has its graphs, by name, and the namespace of the ids of the assistants that it makes of them."""

AEGRA: Final = "aegra_api.services.langgraph_service"
"""Where Aegra has the same."""

FIELD: Final = "input"


@dataclass(frozen=True)
class GraphCheck:
    """What of a run is known to its graph before it begins."""

    graph: GuardedGraph
    is_certain: bool = True
    """Whether it is known to be the run's graph; else an input without messages may be another graph's."""

    @property
    def messages(self) -> InputCheck | None:
        """The limits of the graph's `save_input`; None if it begins otherwise: it takes what it takes then."""
        return self.graph.input_check

    def input(self, run: Mapping[str, Any], *, in_thread: bool, once: bool = True) -> None:
        """Refuse an input that the graph would refuse, in whatever state its thread is.

        In a thread a run may go on with what is there, without an input or with no messages in it: that passes. So does the result
        of a call, if the input is run `once`.

        Raises:
            InputError: As the graph would.
        """
        check = self.messages
        if check is None:
            return
        given = run.get(FIELD)
        if not self.is_certain and not (isinstance(given, Mapping) and check.messages_key in given):
            return
        if given is None:
            if not in_thread and not run.get("command"):
                raise EmptyInputError
            return
        if not isinstance(given, Mapping):
            raise UnsupportedInputError(f"The input is no object. Send one with `{check.messages_key}`.")
        said = given.get(check.messages_key, [])
        if said is None or (said == [] and not self._goes_on(given, in_thread=in_thread)):
            raise EmptyInputError
        check.input(given, goes_on=in_thread and once)
        _refuse_odd_texts(said)

    def context(self, body: Mapping[str, Any]) -> None:
        """Refuse a context that the graph could not work with, if it is one of ours.

        Raises:
            InvalidContextError: It has wrong fields, or is no object.
        """
        schema = self.graph.context_schema
        if not (isinstance(schema, type) and issubclass(schema, Context)):
            return
        context, config = body.get("context"), body.get("config")
        if context is not None and not isinstance(context, Mapping):
            raise InvalidContextError([("context", "must be an object")])
        configurable = config.get("configurable") if isinstance(config, Mapping) else None
        for place, said in (("context", context), ("config.configurable", configurable)):
            try:
                check_context(said if isinstance(said, Mapping) else {})
            except InvalidContextError as error:
                error.fields = [(f"{place}.{name}", problem) for name, problem in error.fields]
                raise

    def _goes_on(self, given: Mapping[str, Any], *, in_thread: bool) -> bool:
        """Whether a run whose input has no messages may have something to do."""
        builder = self.graph.builder
        return in_thread and (not given or not given.keys().isdisjoint(builder.schemas[builder.input_schema]))


ChecksOf = Callable[[str], GraphCheck | None]
"""From an assistant's id to what its graph takes; None if that is not known."""


def check_of(assistant: str) -> GraphCheck | None:
    """Return what the graph of an assistant takes, as far as the server that runs in this process tells it.

    An assistant goes by the name of its graph, or by the id that the server made of it. Those that people made are most
    likely of the graph that takes messages, where there is one only.
    """
    graphs, namespace = _graphs()
    for name, graph in graphs.items():
        if assistant == name or (namespace and assistant == str(uuid5(namespace, name))):
            return GraphCheck(graph) if isinstance(graph, GuardedGraph) else None
    talking = [graph for graph in graphs.values() if isinstance(graph, GuardedGraph)]
    return GraphCheck(talking[0], is_certain=len(graphs) == 1) if len(talking) == 1 else None


def _graphs() -> tuple[Mapping[str, Any], UUID | None]:
    """Return the graphs of this process's server, by name, and the namespace of the ids of assistants made of them."""
    aegra = sys.modules.get(AEGRA)
    if aegra is not None:
        return aegra.get_langgraph_service()._base_graph_cache, aegra.ASSISTANT_NAMESPACE_UUID  # noqa: SLF001  # it tells them nowhere else
    server = sys.modules.get(SERVER)
    return getattr(server, "GRAPHS", {}), getattr(server, "NAMESPACE_GRAPH", None)


def check_input(body: Any, kind: Kind, checks: ChecksOf, *, in_thread: bool) -> None:
    """Refuse a body that creates runs, now or later, if the graph of one would refuse its input or its context.

    `in_thread` tells whether the path names a thread. It hashes payloads: call it in a thread.

    Raises:
        InputError: As the graph would; `fields` says which run of a batch.
    """
    if kind is Kind.RUNS and isinstance(body, list):
        for number, run in enumerate(body):
            _check(run, f"{number}.", checks, in_thread=False)
    elif kind in {Kind.RUN, Kind.CRON}:
        _check(body, "", checks, in_thread=in_thread, once=kind is Kind.RUN)
    elif kind is Kind.COMMAND and isinstance(body, dict) and body.get("method") == "run.start":
        _check(body.get("params"), "params.", checks, in_thread=True)
    elif kind in {Kind.CRON_CHANGE, Kind.ASSISTANT} and isinstance(body, dict):
        # Whose graph it is, a change need not say; a cron's thread neither.
        _check({"assistant_id": body.get("graph_id", ""), **body}, "", checks, in_thread=True, once=False)


def _check(run: Any, within: str, checks: ChecksOf, *, in_thread: bool, once: bool = True) -> None:
    assistant = run.get("assistant_id") if isinstance(run, dict) else None
    check = checks(assistant) if isinstance(assistant, str) else None
    if check is None:
        return
    try:
        check.input(run, in_thread=in_thread, once=once)
    except InputError as error:
        error.fields = ((f"{within}{FIELD}", str(error)),)
        raise
    try:
        check.context(run)
    except InvalidContextError as error:
        error.fields = [(f"{within}{name}", problem) for name, problem in error.fields]
        raise


def _refuse_odd_texts(said: Any) -> None:
    """Refuse text blocks of the newest message whose text is none.

    Raises:
        UnsupportedInputError: There is one.
    """
    content = said[-1] if isinstance(said, list) and said else said
    if isinstance(content, Mapping):
        content = content.get("content")
    elif isinstance(content, list) and content:  # a pair of role and content
        content = content[-1]
    for block in content if isinstance(content, list) else ():
        is_text = isinstance(block, Mapping) and block.get("type") == "text"
        if is_text and not isinstance(block.get("text"), str | None):
            raise UnsupportedInputError("The message has a text block whose text is none. Send a string in `text`.")

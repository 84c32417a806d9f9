"""Give a run of a server what its request said before it was redacted."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import HumanMessage
from langgraph.types import Command, Send

from discreet.checkpoint.user_input import as_mapping
from discreet.errors import InputError
from discreet.graph.guard.objects import IDS
from discreet.nodes.input_check import messages_of
from discreet.state.request_ref import REQUEST_MESSAGE, REQUEST_REF, part_key

DECIDED: Final = IDS | {"user_id", "agent_id", "app_name"}
DECIDED_PREFIXES: Final = ("__", "langgraph_", "checkpoint_")
"""Keys of `configurable` that the server alone decides. A request that names them changes nothing."""

LABELS: Final = frozenset({"agent_id", "app_name"})
"""Keys of the context that rows are labelled with, in clear: a graph gets them as they may be stored."""

INTERRUPT_ID: Final = re.compile("[0-9a-f]{32}")
"""As LangGraph makes them: 128 bits of a hash of the place."""


class Call:
    """What a graph is called with. It shows nothing of that, as tracebacks show the variables of frames."""

    def __init__(self, input: Any, config: Any = None, options: Mapping[str, Any] | None = None) -> None:
        self.input = input
        self.config = config
        self.options = dict(options or {})

    def __repr__(self) -> str:
        return "Call()"

    @property
    def configurable(self) -> Mapping[str, Any]:
        """What the run was configured with."""
        return (self.config or {}).get("configurable") or {}

    @property
    def ref(self) -> str | None:
        """The name under which the vault has the request; None if it came through no server of ours."""
        ref = self.configurable.get(REQUEST_REF)
        return ref if isinstance(ref, str) and ref else None

    @property
    def run_id(self) -> str | None:
        """The run, as a server calls it."""
        run = (self.config or {}).get("run_id") or self.configurable.get("run_id")
        return None if run is None else str(run)

    @property
    def thread_id(self) -> str | None:
        """The thread in which the graph runs."""
        thread = self.configurable.get("thread_id")
        return None if thread is None else str(thread)


def resolved(call: Call, held: Mapping[str, str]) -> Call:
    """Return the call with the raw parts of the request, as far as the vault held them.

    Raises:
        ValueError: A part is no JSON.
    """
    parts = Parts(held)
    given = parts.command(call.input) if isinstance(call.input, Command) else parts.get("input", call.input)
    context = parts.get("context", None)
    if not isinstance(context, Mapping):
        return Call(given, call.config, call.options)
    before = call.options.get("context")
    config = {**(call.config or {}), "configurable": _mirrored(call.configurable, before, context)}
    options = {**call.options, "context": _context(before, context)} if before is not None else call.options
    return Call(given, config, options)


def under_first_id(call: Call, key: str) -> Any:
    """Return the input of a call; a message that came before has the id under which it came first, see `REQUEST_MESSAGE`."""
    first = call.configurable.get(REQUEST_MESSAGE)
    given = as_mapping(call.input)
    if not isinstance(first, str) or given is None:
        return call.input
    try:
        said = messages_of(given.get(key))
    except InputError:
        return call.input  # the graph refuses it with the same error
    if not said or not isinstance(said[-1], HumanMessage):
        return call.input
    return {**given, key: [*said[:-1], said[-1].model_copy(update={"id": first})]}


class Parts:
    """The raw parts of a request."""

    def __init__(self, held: Mapping[str, str]) -> None:
        self._held = held

    def __repr__(self) -> str:
        return "Parts()"

    def get(self, part: str, otherwise: Any) -> Any:
        """Return a part, or `otherwise` if nothing of it was redacted."""
        text = self._held.get(part_key(part))
        return otherwise if text is None else json.loads(text)

    def command(self, given: Command[Any]) -> Command[Any]:
        """Return a command with the raw fields in the place of those it has.

        They come from the request's `command`, or in the event protocol from its `input`, `update` and `goto`.
        """
        command = self.get("command", None)
        raw = command if isinstance(command, Mapping) else {}
        resume = raw.get("resume", self.get("input", given.resume))
        update = raw.get("update", self.get("update", given.update))
        goto = raw.get("goto", self.get("goto", None))
        return dataclasses.replace(
            given,
            resume=given.resume if given.resume is None else _resume(given.resume, resume),
            update=given.update if given.update is None else _update(update),
            goto=_goto(given.goto, goto),
        )


def _resume(given: Any, raw: Any) -> Any:
    """Return the raw answer; one to a single interrupt goes under the id that the server found for it."""
    if isinstance(given, Mapping) and len(given) == 1 and not (isinstance(raw, Mapping) and raw.keys() == given.keys()):
        key = next(iter(given))
        if isinstance(key, str) and INTERRUPT_ID.fullmatch(key):
            return {key: raw}
    return raw


def _update(raw: Any) -> Any:
    """Return an update as the server makes it of JSON: pairs are tuples."""
    if isinstance(raw, list) and all(
        isinstance(each, list) and len(each) == 2 and isinstance(each[0], str)  # a channel and its value
        for each in raw
    ):
        return [tuple(each) for each in raw]
    return raw


def _goto(given: Any, raw: Any) -> Any:
    """Return where to go, with the raw inputs. Names of nodes stay: of one that is not there LangGraph logs the name."""
    steps = raw if isinstance(raw, list) else [raw]
    if not isinstance(given, list) or len(given) != len(steps):
        return given
    return [
        Send(step.node, said["input"]) if isinstance(step, Send) and isinstance(said, Mapping) else step
        for step, said in zip(given, steps, strict=True)
    ]


def _context(before: Any, raw: Mapping[str, Any]) -> Any:
    """Return the context with the raw values of the keys that the server let through."""
    if not isinstance(before, Mapping):
        return before
    return {name: raw[name] if name in raw and not _is_decided(name) else item for name, item in before.items()}


def _mirrored(configurable: Mapping[str, Any], context: Any, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return `configurable` with the raw values where it repeats the context."""
    repeats = context if isinstance(context, Mapping) else configurable
    return {
        name: raw[name] if name in raw and not _is_decided(name) and repeats.get(name, item) == item else item
        for name, item in configurable.items()
    }


def _is_decided(name: str) -> bool:
    return name in DECIDED or name in LABELS or name.startswith(DECIDED_PREFIXES)

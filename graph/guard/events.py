"""Redact what `stream` and `astream` of a graph yield, whatever the modes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import BaseMessage, BaseMessageChunk

from discreet.graph.guard.blocks import BlockEvents
from discreet.graph.guard.chunks import MessageChunks
from discreet.graph.guard.objects import RunObjects
from discreet.graph.guard.texts import TextStream

IDS: Final = frozenset({"thread_id", "run_id", "assistant_id", "graph_id", "checkpoint_id", "checkpoint_ns"})
PLACES: Final = IDS | {
    "langgraph_checkpoint_ns",
    "langgraph_node",
    "langgraph_path",
    "langgraph_step",
    "langgraph_triggers",
    "langgraph_version",
    "langgraph_api_url",
    "langgraph_api_version",
    "ls_integration",
    "ls_model_name",
    "ls_provider",
    "parents",
    "run_attempt",
    "source",
    "step",
}
"""What the engine itself writes into metadata: names of nodes, ids, versions and numbers."""
TASK: Final = frozenset({"id", "name", "path", "triggers"})
DEBUG: Final = frozenset({"step", "timestamp", "type"})

Wrap = Callable[[Any], Any]


@dataclass(frozen=True)
class Shape:
    """How a call to `stream` wants what it yields."""

    modes: str | Sequence[str]
    subgraphs: bool = False
    version: str = "v1"

    def opened(self, event: Any) -> tuple[str | None, Any, Wrap]:
        """Return the mode of an event, its payload, and what puts another payload in its place."""
        if self.version == "v2":
            part = {name: item for name, item in event.items() if name != "data"}
            return part["type"], event["data"], lambda payload: {**part, "data": payload}
        if isinstance(self.modes, list):
            *place, payload = event
            return place[-1], payload, lambda payload: (*place, payload)
        mode = self.modes if isinstance(self.modes, str) else None
        if self.subgraphs:
            namespace, payload = event
            return mode, payload, lambda payload: (namespace, payload)
        return mode, event, lambda payload: payload


class StreamEvents:
    """Redacts the events of one run, in the order in which they come."""

    def __init__(self, objects: RunObjects, shape: Shape) -> None:
        self._objects = objects
        self._shape = shape
        self._chunks = MessageChunks(objects)
        self._blocks = BlockEvents(objects)
        self._tools: dict[str, TextStream] = {}
        self._last: dict[Hashable, tuple[Any, Wrap]] = {}
        """Of each thing that is being written: the metadata that goes with it, and how an event of it is wrapped."""
        self._metas: dict[int, tuple[Any, Any]] = {}

    def __repr__(self) -> str:
        return "StreamEvents()"

    def redact(self, event: Any) -> list[Any]:
        """Return what is yielded for `event`: nothing while it is held back, more than one when something ends."""
        mode, payload, wrap = self._shape.opened(event)
        if _is_message(payload) and mode in ("messages", None):
            return [wrap(each) for each in self._message(payload, wrap)]
        if mode == "custom" and isinstance(payload, BaseMessageChunk):
            self._last["custom", payload.id] = (None, wrap)
            return [wrap(each) for each in self._chunks.feed(("custom", payload.id), payload)]
        if mode == "tools" and isinstance(payload, Mapping):
            return [wrap(each) for each in self._tool(payload, wrap)]
        redacted = wrap(self.payload(mode, payload))
        if self._shape.version == "v2" and "interrupts" in redacted:
            redacted["interrupts"] = self._objects.redact(redacted["interrupts"])
        return [redacted]

    def rest(self) -> list[Any]:
        """Return what was held back of what never ended."""
        rest = []
        for key in self._chunks.open():
            meta, wrap = self._last[key]
            messages = self._chunks.end(key, last=False)
            rest += [wrap(each) if isinstance(key, tuple) else wrap((each, meta)) for each in messages]
        for key in self._blocks.open():
            meta, wrap = self._last[key]
            rest += [wrap((event, meta)) for event in self._blocks.end(key)]
        for call in list(self._tools):
            _, wrap = self._last["tool", call]
            rest += [wrap(each) for each in self._tool_rest(call)]
        return rest

    def payload(self, mode: str | None, payload: Any) -> Any:
        """Return the payload of an event redacted; what the engine writes into it stays."""
        if mode == "updates":
            return self._objects.by_name(payload)
        if mode == "debug" and isinstance(payload, Mapping):
            inner = self._inner(payload.get("type"), payload.get("payload"))
            return {**self._objects.fields({**payload, "payload": None}, DEBUG), "payload": inner}
        if mode == "checkpoints":
            return self._inner("checkpoint", payload)
        if mode == "tasks":
            return self._inner("task", payload)
        return self._objects.redact(payload)

    def metadata(self, meta: Any) -> Any:
        """Return the metadata of a message redacted; of one run it is one and the same object."""
        known = self._metas.get(id(meta))
        if known is None or known[0] is not meta:
            known = self._metas[id(meta)] = (meta, self._objects.fields(meta, PLACES))
        return known[1]

    def _inner(self, kind: Any, payload: Any) -> Any:
        if not isinstance(payload, Mapping):
            return self._objects.redact(payload)
        if kind != "checkpoint":
            return self._task(payload)
        return {
            **self._objects.fields(payload, frozenset({"config", "parent_config", "metadata", "next", "tasks"})),
            "config": self.config(payload.get("config")),
            "parent_config": self.config(payload.get("parent_config")),
            "metadata": self._objects.fields(payload.get("metadata"), PLACES),
            "tasks": [self._task(task) for task in payload.get("tasks") or ()],
        }

    def _task(self, task: Mapping[str, Any]) -> Any:
        redacted = self._objects.fields(task, TASK | {"interrupts", "state", "metadata", "error"})
        if "error" in task:
            redacted["error"] = self._objects.error(task["error"])
        if "interrupts" in task:
            redacted["interrupts"] = [self._objects.fields(each, frozenset({"id"})) for each in task["interrupts"]]
        if "metadata" in task:
            redacted["metadata"] = self._objects.fields(task["metadata"], PLACES)
        if "state" in task:
            state = task["state"]
            redacted["state"] = self.config(state) if isinstance(state, Mapping) else self.snapshot(state)
        return redacted

    def config(self, config: Any) -> Any:
        """Return a run's config redacted: ids stay, and what names begin with two underscores for is left out."""
        if not isinstance(config, Mapping):
            return config
        given = config.get("configurable") or {}
        shown = {name: item for name, item in given.items() if not name.startswith("__")}
        rest = {name: item for name, item in config.items() if name != "configurable"}
        return {**self._objects.redact(rest), "configurable": self._objects.fields(shown, IDS | {"checkpoint_map"})}

    def snapshot(self, state: Any) -> Any:
        """Return a snapshot of a graph's state redacted."""
        if not hasattr(state, "_replace"):
            return self._objects.redact(state)
        return state._replace(
            values=self._objects.redact(state.values),
            config=self.config(state.config),
            parent_config=self.config(state.parent_config),
            metadata=self._objects.fields(state.metadata, PLACES),
            tasks=tuple(self._snapshot_task(task) for task in state.tasks),
            interrupts=self._objects.redact(state.interrupts),
        )

    def _snapshot_task(self, task: Any) -> Any:
        state = self.config(task.state) if isinstance(task.state, Mapping) else task.state
        return task._replace(
            error=self._objects.error(task.error),
            interrupts=self._objects.redact(task.interrupts),
            state=self.snapshot(state) if hasattr(state, "_replace") else state,
            result=self._objects.redact(task.result),
        )

    def _message(self, payload: tuple[Any, Any], wrap: Wrap) -> list[Any]:
        message, meta = payload
        shown = self.metadata(meta)
        run = meta.get("run_id") if isinstance(meta, Mapping) else None
        key = message.id if isinstance(message, BaseMessage) else ("blocks", run)
        self._last[key] = (shown, wrap)
        redact = self._chunks.feed if isinstance(message, BaseMessage) else self._blocks.feed
        return [(each, shown) for each in redact(key, message)]

    def _tool(self, payload: Mapping[str, Any], wrap: Wrap) -> list[Any]:
        call = str(payload.get("tool_call_id"))
        self._last["tool", call] = (None, wrap)
        if payload.get("event") == "tool-output-delta" and isinstance(payload.get("delta"), str):
            stream = self._tools.setdefault(call, self._objects.texts.stream())
            text = stream.feed(payload["delta"])
            return [_tool_delta(self._objects.texts.identifier(call), text)] if text else []
        kept = self._objects.fields(payload, frozenset({"event", "tool_call_id"}))
        kept["tool_call_id"] = self._objects.texts.identifier(payload.get("tool_call_id"))
        return [*self._tool_rest(call), kept]

    def _tool_rest(self, call: str) -> list[Any]:
        stream = self._tools.pop(call, None)
        text = stream.close() if stream else ""
        return [_tool_delta(self._objects.texts.identifier(call), text)] if text else []


def _is_message(payload: Any) -> bool:
    """Whether a payload is a message, or an event of one, with its metadata."""
    if not isinstance(payload, tuple) or len(payload) != 2:  # a message and its metadata
        return False
    head = payload[0]
    return isinstance(head, (BaseMessage, BaseMessageChunk)) or (
        isinstance(head, Mapping) and isinstance(head.get("event"), str)
    )


def _tool_delta(call: Any, text: str) -> dict[str, Any]:
    return {"event": "tool-output-delta", "tool_call_id": call, "delta": text}

"""The engine's own channels: which nodes are about to run.

LangGraph names them `branch:to:<node>` (an edge was taken), `join:<a>+<b>:<node>` (which of several edges were),
`__start__` (the input, before the first node) and `__pregel_tasks` (`Send` packets).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME, TASKS
from langgraph.types import Send

NextVersion = Callable[[Any, None], Any]
"""A saver's `get_next_version`."""

START = "__start__"
BRANCH = "branch:to:"
JOIN = "join:"

BUMPS = "__snapshot_bumps__"
"""Lists, as `<node>|<channel>`, what LangGraph says was seen because it has stored a delta channel anew."""

MARKS = "__redacted__"
"""Lists, by a checkpoint's id, that this saver wrote it and all that it refers to, and whether a run could go on from it.

It is where LangGraph lists nodes, because every saver keeps that whole. What LangGraph makes of the checkpoint has another id,
so it is not marked.
"""
WHOLE, PART, LOOK = "whole", "part", "look"
"""Marks: nothing that a run needs to go on from it was dropped, or something was; or it was `rearmed`."""

NO_NODES = frozenset({INTERRUPT, "__input__", BUMPS, MARKS})
"""What LangGraph lists among the nodes that have seen channels, and is none."""

NO_WRITES = "__no_writes__"
"""A task's mark that it finished without output."""

NO_TASK = "00000000-0000-0000-0000-000000000000"
"""Whom LangGraph says that writes are from which no task made: a `Command` given as input."""

CONTROL = frozenset({ERROR, INTERRUPT, RESUME, "__error_source_node__"})
"""Writes that say what happened to a task. Every other write is output, and one output means the task is finished."""


def mark_of(checkpoint: Checkpoint) -> str | None:
    """Return the mark of a checkpoint; None if another saver wrote it."""
    mark = checkpoint["versions_seen"].get(MARKS, {}).get(checkpoint["id"])
    return None if mark is None else str(mark)


def marked(checkpoint: Checkpoint, mark: str) -> Checkpoint:
    """Return `checkpoint` with a mark."""
    return {**checkpoint, "versions_seen": {**checkpoint["versions_seen"], MARKS: {checkpoint["id"]: mark}}}


def is_engine_channel(channel: str) -> bool:
    """Return whether `channel` has rules of its own, which no policy changes."""
    return is_trigger(channel) or channel in {START, TASKS, NO_WRITES, *CONTROL}


def is_trigger(channel: str) -> bool:
    """Return whether `channel` holds nothing but names of nodes."""
    return channel.startswith((BRANCH, JOIN))


def disarmed(checkpoint: Checkpoint, next_version: NextVersion) -> Checkpoint:
    """Return `checkpoint` as one from which no node starts.

    The channels that would start one get a new version: of the old one their value may be stored, and savers read a
    value by its version, also for the checkpoints that follow.
    """
    values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
    armed = {channel for channel in values if channel in {START, TASKS} or is_trigger(channel)}
    version: str | float = next_version(max(versions.values(), default=None), None)
    return {
        **checkpoint,
        "channel_values": {channel: value for channel, value in values.items() if channel not in armed},
        "channel_versions": {**versions, **dict.fromkeys(armed.intersection(versions), version)},
        "updated_channels": None,
    }


def waiting_in(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return which nodes are about to run, as JSON without anything of a user's: edges that were taken, and whom a `Send` names."""
    edges = {
        channel: value[1] if isinstance(value, tuple) else None  # a deferred node's flag
        for channel, value in values.items()
        if is_trigger(channel) and _is_armed(channel, value)
    }
    return {"edges": edges, "sends": [each.node for each in values.get(TASKS) or () if isinstance(each, Send)]}


AT_INPUT: Mapping[str, Any] = {"edges": {}, "sends": [], "input": True}
"""What waits where an `@entrypoint` has asked."""


def rearmed(checkpoint: Checkpoint, waiting: Mapping[str, Any]) -> Checkpoint:
    """Return a `disarmed` checkpoint with the nodes that wait at it, to be looked at: of what they were given there is nothing."""
    edges: Mapping[str, Any] = waiting["edges"]
    values: dict[str, Any] = {channel: _join_names(channel) if channel.startswith(JOIN) else None for channel in edges}
    values = {
        channel: value if edges[channel] is None else (value, edges[channel]) for channel, value in values.items()
    }
    if waiting.get("input"):
        values[START] = checkpoint["channel_values"].get(START)
    if waiting["sends"]:
        values[TASKS] = [Send(node, None) for node in waiting["sends"]]
    return marked({**checkpoint, "channel_values": {**checkpoint["channel_values"], **values}}, LOOK)


def was_rearmed(checkpoint: Checkpoint) -> bool:
    """Return whether `checkpoint` is what LangGraph has made of one that was only to be looked at."""
    return LOOK in checkpoint["versions_seen"].get(MARKS, {}).values()


def started_by_value(checkpoint: Checkpoint) -> str | None:
    """Return a node that has run because an ordinary channel was written, if there is one.

    In a `StateGraph` and in the functional API there is none, so that the engine's channels say when a turn is over.
    """
    nodes = checkpoint["versions_seen"]
    bumps = nodes.get(BUMPS, {})
    for node, seen in nodes.items():
        for channel in seen if node not in NO_NODES else ():
            # The latter two are of before LangGraph 0.4, and stay where a node of that time is gone.
            engine = is_engine_channel(channel) or channel in nodes or channel.startswith(("start:", "branch:"))
            if not engine and channel in checkpoint["channel_versions"] and f"{node}|{channel}" not in bumps:
                return node
    return None


def is_engine_data(channel: str, value: Any) -> bool:
    """Return whether `value` of a trigger channel, or one write to it, is the engine's and carries nothing of the user.

    A deferred node's channels hold a pair with a flag that says whether the rest of the graph has finished.
    """
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], bool):
        value = value[0]
    if channel.startswith(BRANCH):
        return value is None
    seen = {value} if isinstance(value, str) else value
    return isinstance(seen, (set, frozenset)) and seen <= _join_names(channel)


def is_quiescent(values: Mapping[str, Any]) -> bool:
    """Return whether no node is about to run, so that the turn is over."""
    return not any(_is_armed(channel, value) for channel, value in values.items())


def _is_armed(channel: str, value: Any) -> bool:
    if channel.startswith(JOIN):
        seen = value[0] if isinstance(value, tuple) else value
        return bool(seen == _join_names(channel))
    return channel == START or channel.startswith(BRANCH) or (channel == TASKS and bool(value))


def _join_names(channel: str) -> set[str]:
    return set(channel.removeprefix(JOIN).rpartition(":")[0].split("+"))

"""The steps of a turn that is over, to look at: names, order, times and sizes, and nothing of what they held.

They are a list in the metadata of the checkpoint that closed the turn, so they cost no rows, and no run can go on from one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from langgraph.checkpoint.base import CheckpointMetadata, CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import TASKS

from discreet.checkpoint.channels import BRANCH
from discreet.checkpoint.checkpoint_ref import CheckpointRef, bare, locate
from discreet.checkpoint.thread_scratch import ThreadScratch

TRACE = "trace"
"""In the metadata of a checkpoint that closed a turn: its steps, oldest first. In that of a step: what is known of it."""


def trace_of(thread: ThreadScratch, serde: SerializerProtocol) -> list[dict[str, Any]]:
    """Return the steps of the open turn of the root graph: id, step, source, time, nodes that ran next, bytes by channel."""
    steps = []
    before: Mapping[str, Any] = {}
    for checkpoint_id in thread.open_ids(""):
        held = thread.get(CheckpointRef("", checkpoint_id), serde)
        if held is None or held.metadata.get("source") == "input":  # which is stored itself
            continue
        values, versions = held.checkpoint["channel_values"], held.checkpoint["channel_versions"]
        nodes = [channel.removeprefix(BRANCH) for channel in values if channel.startswith(BRANCH)]
        new = [channel for channel in values if channel in versions and versions[channel] != before.get(channel)]
        steps.append(
            {
                "id": checkpoint_id,
                "step": held.metadata.get("step"),
                "source": held.metadata.get("source"),
                "ts": held.checkpoint["ts"],
                "nodes": [*nodes, *(packet.node for packet in values.get(TASKS) or ())],
                "bytes": {channel: thread.bytes_of("", channel, versions[channel]) for channel in new},
            }
        )
        before = versions
    return steps


def traced(closing: CheckpointTuple) -> list[CheckpointTuple]:
    """Return the steps that `closing` lists as checkpoints without any value, newest first."""
    thread_id, place = locate(closing.config)
    found = []
    parent = ""
    for step in closing.metadata.get(TRACE, ()):  # type: ignore[attr-defined]  # a key of ours
        checkpoint = {**empty_checkpoint(), "id": step["id"], "ts": step["ts"]}
        metadata = {"source": step["source"], "step": step["step"], "parents": {}, TRACE: step}
        found.append(
            CheckpointTuple(
                bare(thread_id, place.ns, step["id"]),
                cast("Any", checkpoint),
                cast("CheckpointMetadata", metadata),
                bare(thread_id, place.ns, parent) if parent else None,
                [],
            )
        )
        parent = step["id"]
    return found[::-1]


def is_traced(found: CheckpointTuple) -> bool:
    """Return whether `found` is such a step, from which no run can go on."""
    return isinstance(found.metadata.get(TRACE), dict)

"""Let a run go on from a step that failed while tool calls wait for their results, with a new message or without.

A retry needs these calls, and a new message must not meet them: providers refuse it. LangGraph applies a checkpoint's
pending writes if it goes on without new input, and discards them if there is one. So that is where the calls are put: as
if the step's own tasks had written them, and had started those anew that failed. A task's id follows from the id of the
checkpoint, which stays, and not from the values in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.types import ERROR, TASKS
from langgraph.types import Send

from discreet.checkpoint.channels import BRANCH, CONTROL, is_trigger
from discreet.checkpoint.messages import dangling

Writes = list[tuple[str, Any]]

SENT = re.compile(r"~__pregel_push, (\d+), 0+")
"""The path of a task that a `Send` started: its place among the packets, and that no other task waits for it."""


class Task(NamedTuple):
    """What one task of the step has written."""

    task_id: str
    writes: Writes

    @property
    def failed(self) -> bool:
        """Whether it raised."""
        return any(channel == ERROR for channel, _ in self.writes)


def restarted(
    failed: CheckpointTuple, paths: Mapping[str, str], conversations: Sequence[str]
) -> CheckpointTuple | None:
    """Return `failed` so that only the tasks that failed run again, without new input, and nothing with it.

    `paths` has the path of each task that has written. None if the step can't be told apart into its tasks: it has
    started different nodes, or a task was cancelled before it wrote anything.
    """
    pending = failed.pending_writes or []
    tasks = [Task(task_id, [write[1:] for write in writes]) for task_id, writes in groupby(pending, lambda w: w[0])]
    values = dict(failed.checkpoint["channel_values"])
    again = _starts(values, tasks, paths)
    if again is None:
        return None
    calls: Writes = []
    for channel in conversations:
        messages = values.get(channel)
        if isinstance(messages, list) and dangling(messages):
            said = max(at for at, message in enumerate(messages) if isinstance(message, AIMessage))
            values[channel] = messages[:said]
            calls.append((channel, messages[said:]))
    written = [(task.task_id, again.get(task.task_id) or _results(task)) for task in tasks]
    written[0] = (written[0][0], [*calls, *written[0][1]])  # the first in the order in which writes are applied
    return failed._replace(
        checkpoint={**failed.checkpoint, "channel_values": values},
        pending_writes=[(task_id, *write) for task_id, writes in written for write in writes],
    )


def _starts(values: Mapping[str, Any], tasks: Sequence[Task], paths: Mapping[str, str]) -> dict[str, Writes] | None:
    """Return, by task, what starts each task that failed; None if that can't be known of all tasks."""
    branches = [channel for channel in values if channel.startswith(BRANCH)]
    packets: list[Send] = values.get(TASKS) or []
    if len(branches) == 1 and not packets and len(tasks) == 1:
        return {tasks[0].task_id: [(branches[0], None)]}
    sent = [SENT.fullmatch(paths.get(task.task_id, "")) for task in tasks]
    places = [int(match[1]) for match in sent if match]
    # What follows a task that had succeeded is started by those that run again: they are of the same node.
    alike = len({packet.node for packet in packets}) == 1 and not any(TASKS in dict(task.writes) for task in tasks)
    if branches or not alike or places != list(range(len(packets))):
        return None
    return {task.task_id: [(TASKS, packet)] for task, packet in zip(tasks, packets, strict=True) if task.failed}


def _results(task: Task) -> Writes:
    return [write for write in task.writes if not is_trigger(write[0]) and write[0] not in CONTROL]

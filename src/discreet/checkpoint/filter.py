"""What the durable tier gets instead of a checkpoint or a task's writes. Pure, and idempotent on its own results.

Everything is built anew from the policy's allow-list: what is not known is dropped, never passed on. Channel versions
and `versions_seen` stay whole, whatever values are dropped, so that a reload neither repeats nor skips a node: a
trigger without a value never fires.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME, TASKS
from langgraph.types import Interrupt

from discreet.checkpoint.channels import START, is_engine_data, is_trigger
from discreet.checkpoint.messages import ENGINE_ID, as_messages, filter_messages
from discreet.checkpoint.policy import KEEP, CheckpointPolicy, Rule
from discreet.checkpoint.values import NotPlainError, apply_rule

REDACTED = "[redacted]"
"""Stands for a payload that is not stored."""

CONTROL = frozenset({ERROR, INTERRUPT, RESUME, "__error_source_node__"})
"""Writes that say what happened to a task. Every other write is output, and one output means the task is finished."""

MAX_RESUME_NUMBER = 9_999
"""Numbers that choose among options. Longer ones may be a PIN, a card or a phone number."""


@dataclass(frozen=True)
class Kept:
    """What is stored of one value."""

    value: Any
    complete: bool = True
    """Whether nothing had to be dropped. Redacting is not dropping."""


@dataclass(frozen=True)
class FilteredCheckpoint:
    """What is stored of one checkpoint."""

    checkpoint: Checkpoint
    complete: bool
    """Whether a run could go on from it as from the original."""
    dropped: int
    """Channels whose value was dropped."""


def filter_checkpoint(
    checkpoint: Checkpoint, policy: CheckpointPolicy, *, closed: bool, conversation: bool, inert: bool = False
) -> FilteredCheckpoint:
    """Return what is stored of `checkpoint`.

    `closed`: the last turn in its messages is over. `conversation`: its messages are the user's conversation, not those
    of a subgraph that works for one turn. `inert`: no node may start from it.
    """
    values: dict[str, Any] = {}
    complete = True
    for channel, value in checkpoint["channel_values"].items():
        if inert and (channel == START or is_trigger(channel)):
            continue
        kept = _filter_channel(channel, value, policy, closed=closed, conversation=conversation)
        complete = complete and kept is not None and kept.complete
        if kept is not None:
            values[channel] = kept.value
    filtered = Checkpoint(
        v=checkpoint["v"],
        id=checkpoint["id"],
        ts=checkpoint["ts"],
        channel_values=values,
        channel_versions=dict(checkpoint["channel_versions"]),
        versions_seen={node: dict(seen) for node, seen in checkpoint["versions_seen"].items()},
        updated_channels=None if inert else checkpoint.get("updated_channels"),
    )
    return FilteredCheckpoint(filtered, complete, len(checkpoint["channel_values"]) - len(values))


def filter_writes(
    writes: Sequence[tuple[str, Any]], policy: CheckpointPolicy, *, conversation: bool
) -> list[tuple[str, Any]]:
    """Return what is stored of one task's writes: its outputs all or none, its control writes one by one."""
    outputs = [
        None if channel in CONTROL else _filter_output(channel, value, policy, conversation=conversation)
        for channel, value in writes
    ]
    finished = all(
        kept is not None and kept.complete
        for (channel, _), kept in zip(writes, outputs, strict=True)
        if channel not in CONTROL
    )
    stored: list[tuple[str, Any]] = []
    for (channel, value), output in zip(writes, outputs, strict=True):
        kept = _filter_control(channel, value, policy) if channel in CONTROL else (output if finished else None)
        if kept is not None:
            stored.append((channel, kept.value))
    return stored


def filter_metadata(
    config: RunnableConfig, metadata: CheckpointMetadata, policy: CheckpointPolicy
) -> CheckpointMetadata:
    """Return the engine's keys, and those that the policy names, from wherever LangGraph would take them."""
    found: dict[str, Any] = {**config.get("configurable", {}), **config.get("metadata", {}), **metadata}
    stored: dict[str, Any] = {key: found[key] for key in ("source", "step") if key in metadata}
    if "parents" in metadata:
        stored["parents"] = dict(metadata["parents"])
    if (run_id := find_run_id(config, metadata)) and ENGINE_ID.fullmatch(run_id):
        stored["run_id"] = run_id
    for key, rule in policy.metadata.items():
        if key in found and (kept := _by_rule(rule, found[key], policy)):
            stored[key] = kept.value
    return cast("CheckpointMetadata", stored)


def find_run_id(config: RunnableConfig, metadata: CheckpointMetadata) -> str | None:
    """Return the run that a checkpoint belongs to, from wherever a caller may have put it."""
    places = (metadata, config.get("metadata", {}), config.get("configurable", {}), config)
    return next((str(place["run_id"]) for place in places if place.get("run_id")), None)


def _filter_channel(
    channel: str, value: Any, policy: CheckpointPolicy, *, closed: bool, conversation: bool
) -> Kept | None:
    if channel == START:
        return _filter_input(value, policy, conversation=conversation)
    if channel == TASKS:
        return None if value else Kept([])
    if is_trigger(channel):
        return Kept(value) if is_engine_data(channel, value) else None
    if channel in policy.messages:
        return _filter_conversation(value, policy, closed=closed, conversation=conversation)
    return _by_rule(policy.channels.get(channel), value, policy)


def _filter_input(value: Any, policy: CheckpointPolicy, *, conversation: bool) -> Kept | None:
    """Return what is stored of a graph's input: the raw values that its first step will write."""
    if not isinstance(value, Mapping):
        return None
    kept = {
        channel: _filter_output(channel, item, policy, conversation=conversation) for channel, item in value.items()
    }
    stored = {channel: item.value for channel, item in kept.items() if item is not None}
    return Kept(stored, all(item is not None and item.complete for item in kept.values()))


def _filter_output(channel: str, value: Any, policy: CheckpointPolicy, *, conversation: bool) -> Kept | None:
    if channel in policy.messages:
        messages = as_messages(value)
        return _filter_conversation(messages, policy, closed=False, conversation=conversation)
    if is_trigger(channel):
        return Kept(value) if is_engine_data(channel, value) else None
    if channel == "__no_writes__":
        return Kept(None)
    return _by_rule(policy.channels.get(channel), value, policy)


def _filter_conversation(value: Any, policy: CheckpointPolicy, *, closed: bool, conversation: bool) -> Kept | None:
    if type(value) is not list or (value and not conversation):
        return None
    filtered = filter_messages(value, policy, closed=closed)
    return Kept(filtered.messages, filtered.complete)


def _filter_control(channel: str, value: Any, policy: CheckpointPolicy) -> Kept | None:
    if channel == ERROR:
        if isinstance(value, BaseException):
            return Kept(type(value).__name__)
        return _by_rule(policy.errors, value, policy) or Kept(REDACTED)
    if channel == INTERRUPT:
        return Kept(_filter_interrupt(value, policy))
    if channel == RESUME:
        answers = value if isinstance(value, list) else [value]
        return Kept(value) if all(_is_harmless(answer, policy) for answer in answers) else None
    return _by_rule(KEEP, value, policy)  # the name of the node that failed


def _filter_interrupt(value: Any, policy: CheckpointPolicy) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_filter_interrupt(item, policy) for item in value)
    payload = value.value if isinstance(value, Interrupt) else value
    kept = _by_rule(policy.interrupts, payload, policy) or Kept(REDACTED)
    return Interrupt(kept.value, value.id) if isinstance(value, Interrupt) else kept.value


def _is_harmless(answer: Any, policy: CheckpointPolicy) -> bool:
    if isinstance(answer, str):
        return answer.strip().lower() in policy.resume_words
    return answer is None or (type(answer) in (bool, int) and abs(answer) <= MAX_RESUME_NUMBER)


def _by_rule(rule: Rule | None, value: Any, policy: CheckpointPolicy) -> Kept | None:
    if rule is None:
        return None
    try:
        return Kept(apply_rule(rule, value, policy))
    except NotPlainError:
        return None

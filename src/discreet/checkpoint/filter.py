"""What the durable tier gets instead of a checkpoint or a task's writes. Pure, and idempotent on its own results.

Everything is built anew from the policy's allow-list: what is not known is dropped, never passed on. Channel versions
and `versions_seen` stay whole, whatever values are dropped, so that a reload neither repeats nor skips a node: a
trigger without a value never fires.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, cast
from uuid import uuid5

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME, TASKS
from langgraph.types import Interrupt

from discreet.checkpoint.channels import CONTROL, NO_WRITES, START, is_engine_data, is_trigger
from discreet.checkpoint.messages import ENGINE_ID, ID_SPACE, Chosen, as_messages, select
from discreet.checkpoint.policy import KEEP, CheckpointPolicy, Rule
from discreet.checkpoint.stored_messages import KnownMessages
from discreet.checkpoint.values import NotPlainError, seal, storable_copy

REDACTED = "[redacted]"
"""Stands for a payload that is not stored."""

SOURCES = frozenset({"input", "loop", "update", "fork"})
"""What LangGraph says a checkpoint comes from."""

INTERRUPT_ID = re.compile(r"[0-9a-f]{1,32}|placeholder-id")
"""How LangGraph names an interrupt."""

MAX_RESUME_NUMBER = 9_999
"""Numbers that choose among options. Longer ones may be a PIN, a card or a phone number."""


@dataclass(frozen=True)
class Kept:
    """What is stored of one value."""

    build: Callable[[], Any]
    """Makes it. Redacting is the costly part, and most checkpoints stay in RAM."""
    complete: bool = True
    """Whether nothing had to be dropped. Redacting is not dropping."""


@dataclass(frozen=True)
class FilteredCheckpoint:
    """What is stored of one checkpoint."""

    original: Checkpoint
    kept: Mapping[str, Kept]
    complete: bool
    """Whether a run could go on from it as from the original."""

    @property
    def dropped(self) -> int:
        """How many channels have lost their value."""
        return len(self.original["channel_values"]) - len(self.kept)

    def build(self) -> Checkpoint:
        """Return a new checkpoint to store."""
        return Checkpoint(
            v=self.original["v"],
            id=self.original["id"],
            ts=self.original["ts"],
            channel_values={channel: kept.build() for channel, kept in self.kept.items()},
            channel_versions=dict(self.original["channel_versions"]),
            versions_seen={node: dict(seen) for node, seen in self.original["versions_seen"].items()},
            updated_channels=self.original.get("updated_channels"),
        )


def filter_checkpoint(
    checkpoint: Checkpoint,
    policy: CheckpointPolicy,
    *,
    closed: bool,
    conversation: bool,
    known: KnownMessages | None = None,
    unended: AbstractSet[str] = frozenset(),
    opening: bool = False,
) -> FilteredCheckpoint:
    """Return what is stored of `checkpoint`.

    `closed`: the last turn in its messages is over. `conversation`: its messages are the user's conversation, not those
    of a subgraph that works for one turn. `known`: what earlier checkpoints of the thread have shown; stored messages
    among them are passed on as the same objects, in `Chosen` lists.
    `unended`: what the model said in turns that never ended. `opening`: no node has run since stored messages were read.
    """
    view = _View(policy, conversation, known or KnownMessages(), unended, opening)
    kept = {
        channel: _filter_channel(channel, value, view, closed=closed)
        for channel, value in checkpoint["channel_values"].items()
    }
    return FilteredCheckpoint(
        checkpoint,
        {channel: item for channel, item in kept.items() if item is not None},
        all(item is not None and item.complete for item in kept.values()),
    )


def filter_writes(
    writes: Sequence[tuple[str, Any]],
    policy: CheckpointPolicy,
    *,
    conversation: bool,
    known: KnownMessages | None = None,
) -> list[tuple[str, Any]]:
    """Return what is stored of one task's writes: its outputs all or none, its control writes one by one."""
    view = _View(policy, conversation, known or KnownMessages())
    kept = [
        _filter_control(channel, value, policy) if channel in CONTROL else _filter_output(channel, value, view)
        for channel, value in writes
    ]
    outputs = [item for (channel, _), item in zip(writes, kept, strict=True) if channel not in CONTROL]
    finished = all(item is not None and item.complete for item in outputs)
    return [
        (channel, item.build())
        for (channel, _), item in zip(writes, kept, strict=True)
        if item is not None and (finished or channel in CONTROL)
    ]


def filter_metadata(
    config: RunnableConfig, metadata: CheckpointMetadata, policy: CheckpointPolicy
) -> CheckpointMetadata:
    """Return the engine's keys, and those that the policy names, from wherever LangGraph would take them."""
    found: dict[str, Any] = {**config.get("configurable", {}), **config.get("metadata", {}), **metadata}
    stored: dict[str, Any] = {}
    if metadata.get("source") in SOURCES:
        stored["source"] = metadata["source"]
    if type(step := metadata.get("step")) is int:
        stored["step"] = step
    if "parents" in metadata:
        stored["parents"] = {ns: parent for ns, parent in metadata["parents"].items() if ENGINE_ID.fullmatch(parent)}
    if (run_id := find_run_id(config, metadata)) and ENGINE_ID.fullmatch(run_id):
        stored["run_id"] = run_id
    for key, rule in policy.metadata.items():
        if key in found and (kept := _by_rule(rule, found[key], policy)):
            stored[key] = kept.build()
    return cast("CheckpointMetadata", stored)


def find_run_id(config: RunnableConfig, metadata: CheckpointMetadata) -> str | None:
    """Return the run that a checkpoint belongs to, from wherever a caller may have put it."""
    places = (metadata, config.get("metadata", {}), config.get("configurable", {}), config)
    return next((str(place["run_id"]) for place in places if place.get("run_id")), None)


@dataclass(frozen=True)
class _View:
    policy: CheckpointPolicy
    conversation: bool
    known: KnownMessages
    unended: AbstractSet[str] = frozenset()
    opening: bool = False


def _filter_channel(channel: str, value: Any, view: _View, *, closed: bool) -> Kept | None:
    if channel == START:
        return _filter_input(value, view)
    if channel == TASKS:
        return None if value else _as_is([])
    if channel in view.policy.messages:
        return _filter_messages(value, view, closed=closed)
    return _filter_plain(channel, value, view.policy)


def _filter_input(value: Any, view: _View) -> Kept | None:
    """Return what is stored of a graph's input: the raw values that its first step will write."""
    if not isinstance(value, Mapping):
        return None
    items = {channel: _filter_output(channel, item, view) for channel, item in value.items()}
    kept = {channel: item for channel, item in items.items() if item is not None}
    complete = all(item is not None and item.complete for item in items.values())
    return Kept(lambda: {channel: item.build() for channel, item in kept.items()}, complete)


def _filter_output(channel: str, value: Any, view: _View) -> Kept | None:
    if channel in view.policy.messages:
        kept = _filter_messages(as_messages(value), view, closed=False)
        return kept and Kept(lambda: list(kept.build()), kept.complete)
    return _as_is(None) if channel == NO_WRITES else _filter_plain(channel, value, view.policy)


def _filter_messages(value: Any, view: _View, *, closed: bool) -> Kept | None:
    if not isinstance(value, list) or (value and not view.conversation):
        return None
    front, stored = view.known.front(value, unchanged=not view.opening)
    selection = select(value, closed=closed, start=stored, unended=view.unended)

    def build() -> Chosen:
        rebuilt = [view.known.rebuild(message, view.policy) for message in selection.messages]
        return front.chosen(stored).with_more(rebuilt) if front else Chosen.of(rebuilt)

    return Kept(build, selection.complete)


def _filter_plain(channel: str, value: Any, policy: CheckpointPolicy) -> Kept | None:
    if is_trigger(channel):
        return _as_is(value) if is_engine_data(channel, value) else None
    return _by_rule(policy.channels.get(channel), value, policy)


def _filter_control(channel: str, value: Any, policy: CheckpointPolicy) -> Kept | None:
    if channel == ERROR:
        if isinstance(value, BaseException):
            return _as_is(type(value).__name__)
        return _by_rule(policy.errors, value, policy) or _as_is(REDACTED)
    if channel == INTERRUPT:
        return _as_is(_filter_interrupt(value, policy))
    if channel == RESUME:
        answers = value if isinstance(value, list) else [value]
        return _as_is(value) if all(_is_harmless(answer, policy) for answer in answers) else None
    return _by_rule(KEEP, value, policy)  # the name of the node that failed


def _filter_interrupt(value: Any, policy: CheckpointPolicy) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_filter_interrupt(item, policy) for item in value)
    payload = value.value if isinstance(value, Interrupt) else value
    kept = (_by_rule(policy.interrupts, payload, policy) or _as_is(REDACTED)).build()
    return Interrupt(kept, _safe_interrupt_id(value.id)) if isinstance(value, Interrupt) else kept


def _safe_interrupt_id(interrupt_id: str) -> str:
    """Return an id as LangGraph makes it, 32 hexadecimal digits, and for a caller's own one derived from it."""
    return interrupt_id if INTERRUPT_ID.fullmatch(interrupt_id) else uuid5(ID_SPACE, interrupt_id).hex


def _is_harmless(answer: Any, policy: CheckpointPolicy) -> bool:
    if isinstance(answer, str):
        return answer.strip().lower() in policy.resume_words
    return answer is None or (type(answer) in (bool, int) and abs(answer) <= MAX_RESUME_NUMBER)


def _by_rule(rule: Rule | None, value: Any, policy: CheckpointPolicy) -> Kept | None:
    if rule is None:
        return None
    try:
        copy = storable_copy(rule, value)
    except NotPlainError:
        return None
    return Kept(lambda: seal(rule, copy, policy))


def _as_is(value: Any) -> Kept:
    return Kept(lambda: value)

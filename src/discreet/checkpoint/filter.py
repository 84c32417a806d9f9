"""What the durable tier gets instead of a checkpoint or a task's writes. Pure, and idempotent on its own results.

Everything is built anew from the policy's allow-list: what is not known is dropped, never passed on. Channel versions
and `versions_seen` stay whole, whatever values are dropped, so that a reload neither repeats nor skips a node: a
trigger without a value never fires.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME, TASKS
from langgraph.types import Interrupt

from discreet.checkpoint.channels import CONTROL, NO_WRITES, START, is_engine_data, is_trigger
from discreet.checkpoint.known_channels import is_known
from discreet.checkpoint.message_ids import ENGINE_ID
from discreet.checkpoint.messages import NOTHING_KNOWN, Chosen, Said, Turn, select
from discreet.checkpoint.policy import KEEP, CheckpointPolicy, Rule
from discreet.checkpoint.stored_messages import KnownMessages, ShownValue
from discreet.checkpoint.user_input import as_mapping, as_messages
from discreet.checkpoint.values import NotPlainError, as_json, seal, storable_copy
from discreet.state.message_text import MADE_BY, all_spoken

REDACTED = "[redacted]"
"""Stands for a payload that is not stored."""

SOURCES = frozenset({"input", "loop", "update", "fork"})
"""What LangGraph says a checkpoint comes from."""

PREVIOUS = "__previous__"
"""What an `@entrypoint` returned or saved last: anything, of which lists of messages are stored."""

STRUCTURED = "structured_response"
"""Where `langchain.agents.create_agent` puts the response of an agent that was told its schema."""


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
    turn: Turn,
    known: KnownMessages | None = None,
    said: Said = NOTHING_KNOWN,
    before: Mapping[str, Chosen] | None = None,
    opening: bool = False,
) -> FilteredCheckpoint:
    """Return what is stored of `checkpoint`.

    `turn`: how far the last turn in its messages is. `known`: what earlier checkpoints of the thread have shown; stored
    messages among them are passed on as the same objects, in `Chosen` lists. `said`: whose its messages are. `before`: the
    stored messages of each channel as the turn began. `opening`: no node has run since stored messages were read.
    """
    values = checkpoint["channel_values"]
    said = replace(
        said,
        structured=values.get(STRUCTURED),
        told_tools=policy.direct_tools,
        summaries=policy.summaries,
        tools=policy.tools,
    )
    view = _View(policy, known or KnownMessages(), said, turn, before or {}, opening)
    kept = {channel: _filter_channel(channel, value, view) for channel, value in values.items()}
    return FilteredCheckpoint(
        checkpoint,
        {channel: item for channel, item in kept.items() if item is not None},
        all(item is not None and item.complete for item in kept.values()),
    )


def filter_writes(
    writes: Sequence[tuple[str, Any]],
    policy: CheckpointPolicy,
    *,
    known: KnownMessages | None = None,
    said: Said = NOTHING_KNOWN,
) -> list[tuple[str, Any]]:
    """Return what is stored of one task's writes: its outputs all or none, its control writes one by one."""
    view = _View(policy, known or KnownMessages(), replace(said, summaries=policy.summaries, tools=policy.tools))
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
            try:
                stored[key] = as_json(kept.build())
            except NotPlainError:
                continue  # as LangGraph leaves out what its savers can't hold
    return cast("CheckpointMetadata", stored)


def find_run_id(config: RunnableConfig, metadata: CheckpointMetadata) -> str | None:
    """Return the run that a checkpoint belongs to, from wherever a caller may have put it."""
    places = (metadata, config.get("metadata", {}), config.get("configurable", {}), config)
    return next((str(place["run_id"]) for place in places if place.get("run_id")), None)


@dataclass(frozen=True)
class _View:
    policy: CheckpointPolicy
    known: KnownMessages
    said: Said
    turn: Turn = Turn.OPEN
    before: Mapping[str, Chosen] = field(default_factory=dict)
    opening: bool = False


def _filter_channel(channel: str, value: Any, view: _View) -> Kept | None:
    if channel == START:
        return _filter_input(value, view)
    if channel == TASKS:
        return None if value else _as_is([])
    if channel in view.policy.messages:
        return _filter_messages(channel, value, view)
    return _filter_plain(channel, value, view)


def _filter_input(value: Any, view: _View) -> Kept | None:
    """Return what is stored of a graph's input: the raw values that its first step will write."""
    fields = as_mapping(value)
    if fields is None:
        return None
    view = replace(view, said=replace(view.said, is_input=True), turn=Turn.OPEN)
    items = {channel: _filter_output(channel, item, view) for channel, item in fields.items()}
    kept = {channel: item for channel, item in items.items() if item is not None}
    complete = fields is value and all(item is not None and item.complete for item in items.values())
    return Kept(lambda: {channel: item.build() for channel, item in kept.items()}, complete)


def _filter_output(channel: str, value: Any, view: _View) -> Kept | None:
    if channel in view.policy.messages:
        kept = _filter_messages(channel, as_messages(value), view)
        return kept and Kept(lambda: list(kept.build()), kept.complete)
    return _as_is(None) if channel == NO_WRITES else _filter_plain(channel, value, view)


def _filter_messages(channel: str, value: Any, view: _View) -> Kept | None:
    value = list(value) if isinstance(value, tuple) else value
    if not isinstance(value, list) or (
        channel == PREVIOUS and not all(isinstance(each, BaseMessage) for each in value)
    ):
        return None
    front, stored = view.known.front(value, unchanged=not view.opening)
    if (spoken := all_spoken(new := value[stored:])) is not new:
        value = [*value[:stored], *spoken]
    selection = select(value, turn=view.turn, start=stored, said=view.said)

    def build() -> Chosen:
        rebuilt = [view.known.rebuild(message, view.policy) for message in selection.messages]
        first = front.chosen(stored) if front else _replaced(value, view.before.get(channel), view.said)
        return first.with_more(rebuilt).distinct()

    return Kept(build, selection.complete)


def _replaced(messages: Sequence[Any], before: Chosen | None, said: Said) -> Chosen:
    """Return the stored messages in whose place a graph has put a summary that isn't stored: they stay.

    A summary has LangChain's mark, or stands before something that was said. Before nothing of that it is a word about a
    conversation that was cleared.
    """
    if not before or not messages or not isinstance(messages[0], HumanMessage) or said.is_users(messages[0]):
        return Chosen.of([])
    if said.keeps(messages[0]):
        return Chosen.of([])
    left = (message for message in messages[1:] if isinstance(message, BaseMessage))
    if MADE_BY not in messages[0].additional_kwargs and not any(map(said.came, left)):
        return Chosen.of([])
    return before.before({getattr(message, "id", None) for message in messages})


def _filter_plain(channel: str, value: Any, view: _View) -> Kept | None:
    policy = view.policy
    if is_trigger(channel):
        return _as_is(value) if is_engine_data(channel, value) else None
    rule = policy.channels.get(channel)
    if rule is None and policy.counters and is_known(channel, value, policy.redact):
        rule = KEEP
    kept = _by_rule(rule, value, policy, view.known.value(channel))
    if rule is not None and kept is None:
        policy.tell_dropped(channel, type(value).__name__)
    return kept


def _filter_control(channel: str, value: Any, policy: CheckpointPolicy) -> Kept | None:
    if channel == ERROR:
        if isinstance(value, BaseException):
            return _as_is(type(value).__name__)
        return _by_rule(policy.errors, value, policy) or _as_is(REDACTED)
    if channel == INTERRUPT:
        return _as_is(_filter_interrupt(value, policy))
    if channel == RESUME:
        answers = value if isinstance(value, list) else [value]
        return _as_is(value) if all(is_harmless(answer, policy) for answer in answers) else None
    return _by_rule(KEEP, value, policy)  # the name of the node that failed


def _filter_interrupt(value: Any, policy: CheckpointPolicy) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_filter_interrupt(item, policy) for item in value)
    payload = value.value if isinstance(value, Interrupt) else value
    kept = (_by_rule(policy.interrupts, payload, policy) or _as_is(REDACTED)).build()
    return Interrupt(kept, policy.safe_id(value.id) or "") if isinstance(value, Interrupt) else kept


def is_harmless(answer: Any, policy: CheckpointPolicy) -> bool:
    """Return whether an answer to an interrupt says nothing about a person. A number may be a PIN."""
    if isinstance(answer, str):
        return answer.strip().lower() in policy.resume_words
    return answer is None or type(answer) is bool


def _by_rule(rule: Rule | None, value: Any, policy: CheckpointPolicy, known: ShownValue | None = None) -> Kept | None:
    """Return what `rule` leaves of a value. As it is `known` to have been shown, it is what was stored of it."""
    if rule is None:
        return None
    try:
        copy = storable_copy(rule, value)
    except (NotPlainError, RecursionError):  # the latter of a value that holds itself
        return None
    if known is not None and known.shown == copy:
        return _as_is(known.stored)
    return Kept(lambda: seal(rule, copy, policy))


def _as_is(value: Any) -> Kept:
    return Kept(lambda: value)

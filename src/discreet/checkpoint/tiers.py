"""Decide, for every write of LangGraph, what goes to which tier. No I/O: the savers carry out what is decided here.

A checkpoint is stored if it is complete (the policy dropped nothing), if it closes its turn (no node is about to run),
or if it is the root graph's input (so that the user's message is safe at once). Every other one stays in RAM. So a
parent in the durable tier is the nearest stored ancestor, and which versions are new is relative to that one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import INTERRUPT

from discreet import metrics
from discreet.checkpoint.channels import is_quiescent
from discreet.checkpoint.filter import filter_checkpoint, filter_metadata, filter_writes, find_run_id
from discreet.checkpoint.places import Place, bare, locate
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.scratch import Scratch, TaskWrites, ThreadScratch
from discreet.errors import CheckpointError


class DurablePut(NamedTuple):
    """Arguments of the durable tier's `put`."""

    config: RunnableConfig
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    new_versions: ChannelVersions


class PutPlan(NamedTuple):
    """What to do with one checkpoint."""

    config: RunnableConfig
    """What `put` returns."""
    durable: DurablePut | None
    """What to store; None if it stays in RAM."""
    closing: bool
    """Whether the turn is over once this is stored."""


class Tiers:
    """The policy and the scratch tier of one saver."""

    def __init__(
        self,
        policy: CheckpointPolicy,
        scratch: Scratch,
        serde: SerializerProtocol,
        next_version: Callable[[Any, None], Any],
    ) -> None:
        self._policy = policy
        self.scratch = scratch
        self._serde = serde
        self._next_version = next_version

    def unknown(self, config: RunnableConfig) -> RunnableConfig | None:
        """Return where to look up the checkpoint that `config` names, if nobody knows whether it is stored."""
        thread_id, place = locate(config)
        if not place.checkpoint_id:
            return None
        with self.scratch.reading(thread_id) as thread:
            known = thread is not None and place in thread.anchors
        return None if known else bare(thread_id, *place)

    def learn(self, found: CheckpointTuple | None) -> None:
        """Take note of what a look-up found."""
        if found is not None:
            thread_id, place = locate(found.config)
            with self.scratch.thread(thread_id) as thread:
                thread.note_stored(place, _value_versions(found.checkpoint))
                if not is_quiescent(found.checkpoint["channel_values"]):
                    thread.started.add(place)

    def plan_put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata) -> PutPlan:
        """Keep `checkpoint` in the scratch tier while its turn is open, and say what to store of it."""
        _refuse_delta_channels(metadata)
        thread_id, parent = locate(config)
        place = Place(parent.ns, checkpoint["id"])
        opening = metadata.get("source") == "input"
        closing = place.conversation and not opening and is_quiescent(checkpoint["channel_values"])
        needed = closing or (opening and place.ns == "")
        stored = self._filter(place, checkpoint, over=opening or closing, needed=needed)
        with self.scratch.thread(thread_id) as thread:
            first = place.conversation and not thread.holds(parent) and parent not in thread.started
            if stored is None and (first or place in thread.paused):
                stored = self._stub(checkpoint)
            anchor = thread.anchors.get(parent)
            if not closing:
                thread.put(config, checkpoint, _with_run_id(config, metadata), self._serde)
                thread.anchors[place] = anchor
            if stored is None:
                thread.overtaken.pop(place, None)
                return PutPlan(bare(thread_id, *place), None, closing)
            return _plan_store(
                thread, place, anchor, stored, filter_metadata(config, metadata, self._policy), closing=closing
            )

    def plan_pause(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]]) -> PutPlan | None:
        """Say what to store of a checkpoint in RAM at which a task has just asked a question.

        Another process then finds a thread in which no node is about to run. It can take a new message; an answer to
        the question finds nothing to go to, where it could else reach a call made anew.
        """
        thread_id, place = locate(config)
        if not place.conversation or all(channel != INTERRUPT for channel, _ in writes):
            return None
        with self.scratch.thread(thread_id) as thread:
            if place in thread.stored:
                return None
            held = thread.get(place, self._serde)
            if held is None:
                thread.paused.add(place)  # the question came before its checkpoint
                return None
            if place in thread.overtaken:  # it is being stored
                return None
            stub = self._stub(held.checkpoint)
            metadata = filter_metadata(held.config, held.metadata, self._policy)
            return _plan_store(thread, place, thread.anchors.get(place), stub, metadata, closing=False)

    def confirm(self, plan: PutPlan) -> list[TaskWrites]:
        """Note that `plan` was stored; return the writes that were waiting for it."""
        if plan.durable is None:
            return []
        thread_id, place = locate(plan.config)
        with self.scratch.thread(thread_id) as thread:
            waiting = thread.overtaken.pop(place, [])
            if plan.closing:
                thread.close(place)
            thread.note_stored(place, _value_versions(plan.durable.checkpoint))
        return waiting

    def plan_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> TaskWrites | None:
        """Keep `writes` in the scratch tier, and say what to store of them, if their checkpoint is stored.

        Writes may come before their checkpoint; then they wait for it.
        """
        thread_id, place = locate(config)
        filtered = filter_writes(writes, self._policy, conversation=place.conversation)
        metrics.dropped_writes.labels(kind="write").inc(len(writes) - len(filtered))
        with self.scratch.thread(thread_id) as thread:
            if place.checkpoint_id >= thread.closed.get(place.ns, ""):  # else late: its turn is over
                thread.put_writes(place, writes, task_id, task_path, self._serde)
            if not filtered:
                return None
            call = TaskWrites(bare(thread_id, *place), filtered, task_id, task_path)
            if place in thread.stored:
                return call
            if place in thread.overtaken or place not in thread.anchors:
                thread.overtaken.setdefault(place, []).append(call)
            return None

    def forget_runs(self, run_ids: Sequence[str]) -> None:
        """Drop what the scratch tier has of these runs."""
        for thread_id in self.scratch.thread_ids():
            with self.scratch.thread(thread_id) as thread:
                thread.forget_runs(set(run_ids), self._serde)

    def forget_history(self, thread_ids: Sequence[str], *, turns: bool) -> None:
        """Keep the newest checkpoint of these threads; `turns` drops even that."""
        for thread_id in set(thread_ids).intersection(self.scratch.thread_ids()):
            if turns:
                self.scratch.drop(thread_id)
                continue
            with self.scratch.thread(thread_id) as thread:
                thread.keep_heads()

    def _filter(self, place: Place, checkpoint: Checkpoint, *, over: bool, needed: bool) -> Checkpoint | None:
        """Return what is stored of `checkpoint`: None if the policy dropped something, unless it is `needed`."""
        filtered = filter_checkpoint(
            checkpoint, self._policy, closed=place.conversation and over, conversation=place.conversation
        )
        metrics.dropped_writes.labels(kind="channel").inc(filtered.dropped)
        return filtered.build() if filtered.complete or needed else None

    def _stub(self, checkpoint: Checkpoint) -> Checkpoint:
        """Return what is stored of a turn that pauses, or of one whose first checkpoint is incomplete.

        The latter is so with durability "exit", which saves once. No node starts from a stub; it holds the user's
        message. It may lack an answer that the same version of its channel has once the turn is closed, and a version
        is stored once, so its messages get a version of their own.
        """
        stub = filter_checkpoint(checkpoint, self._policy, closed=False, conversation=True).build(inert=True)
        versions = stub["channel_versions"]
        newest = max(versions.values(), default=None)
        for channel in self._policy.messages:
            if channel in versions:
                versions[channel] = self._next_version(newest, None)
        return stub


def _plan_store(
    thread: ThreadScratch,
    place: Place,
    anchor: str | None,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    *,
    closing: bool,
) -> PutPlan:
    """Plan to store `checkpoint` as a child of `anchor`. Writes that come meanwhile wait for it."""
    thread.overtaken.setdefault(place, [])
    there = thread.stored.get(Place(place.ns, anchor or ""), {})
    new_versions = {
        channel: version for channel, version in _value_versions(checkpoint).items() if there.get(channel) != version
    }
    durable = DurablePut(bare(thread.thread_id, place.ns, anchor), checkpoint, metadata, new_versions)
    return PutPlan(bare(thread.thread_id, *place), durable, closing)


def _value_versions(checkpoint: Checkpoint) -> ChannelVersions:
    versions = checkpoint["channel_versions"]
    return {channel: versions[channel] for channel in checkpoint["channel_values"] if channel in versions}


def _with_run_id(config: RunnableConfig, metadata: CheckpointMetadata) -> CheckpointMetadata:
    run_id = find_run_id(config, metadata)
    return {**metadata, "run_id": run_id} if run_id else metadata


def _refuse_delta_channels(metadata: CheckpointMetadata) -> None:
    """Refuse what would be lost in silence: a DeltaChannel's value is its history of writes, which aren't all stored."""
    if metadata.get("counters_since_delta_snapshot"):
        raise CheckpointError("RedactingSaver can't store a graph with a DeltaChannel. Use an ordinary channel.")

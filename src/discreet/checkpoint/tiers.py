"""Decide, for every write of LangGraph, what goes to which tier. No I/O: the savers carry out what is decided here.

Stored are: the root graph's input, so that the user's message is safe at once; a checkpoint that closes its turn (no node
is about to run); and what a caller makes of the state, if it is complete (the policy dropped nothing). Everything else
stays in RAM. So a parent in the durable tier is the nearest stored ancestor, and which versions are new is relative to
that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import INTERRUPT, RESUME

from discreet import metrics
from discreet.checkpoint.channels import CONTROL, START, NextVersion, disarmed, is_quiescent, started_by_value
from discreet.checkpoint.checkpoint_ref import CheckpointRef, bare, in_run, locate
from discreet.checkpoint.deltas import Deltas
from discreet.checkpoint.filter import (
    FilteredCheckpoint,
    filter_checkpoint,
    filter_metadata,
    filter_writes,
    find_run_id,
)
from discreet.checkpoint.messages import Chosen, fold, give_ids, said_last
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.scratch import Scratch
from discreet.checkpoint.thread_scratch import TaskWrites, ThreadScratch
from discreet.checkpoint.write_plan import DurablePut, PutPlan, Stored, Whole
from discreet.errors import CheckpointError, TransientStateLostError

UNFINISHED = "unfinished"
"""A mark in a checkpoint's metadata: it is of the middle of a turn, of which it holds a part."""

NO_TASK = "00000000-0000-0000-0000-000000000000"
"""Whom LangGraph says that writes are from which no task made: a `Command` given as input."""


_dropped_values = metrics.dropped_writes.labels(kind="channel")
_dropped_writes = metrics.dropped_writes.labels(kind="write")


class Tiers:
    """The policy and the scratch tier of one saver."""

    def __init__(
        self,
        policy: CheckpointPolicy,
        scratch: Scratch,
        serde: SerializerProtocol,
        next_version: NextVersion,
        *,
        by_row: bool = False,
    ) -> None:
        """`by_row`: the durable tier takes messages as `Chosen` lists, and stores each once."""
        self._policy = policy
        self._by_row = by_row
        self.scratch = scratch
        self._serde = serde
        self._deltas = Deltas(policy, serde)
        self._next_version = next_version

    def unknown(self, config: RunnableConfig) -> RunnableConfig | None:
        """Return where to look up the checkpoint that `config` names, if nobody knows whether it is stored."""
        thread_id, place = locate(config)
        if not place.checkpoint_id:
            return None
        with self.scratch.reading(thread_id) as thread:
            known = thread is not None and place in thread.anchors
        return None if known else bare(thread_id, *place)

    def begin(self, config: RunnableConfig, found: CheckpointTuple | None) -> None:
        """Take note of the checkpoint that a run is about to go on from, unless it is one of the open turn."""
        thread_id, place = locate(found.config if found else config)
        with self.scratch.reading(thread_id) as thread:
            held = thread is not None and thread.holds(place)
            if thread is not None and place.ns == "":
                thread.refused = False
                thread.begun.add(place)
        if not held:
            self.learn(found, starting=True)

    def learn(self, found: CheckpointTuple | None, *, starting: bool = False) -> None:
        """Take note of a checkpoint of the durable tier; `starting` says that a run goes on from it."""
        if found is None:
            return
        thread_id, place = locate(found.config)
        values = found.checkpoint["channel_values"]
        with self.scratch.thread(thread_id) as thread:
            thread.note_stored(place, _value_versions(found.checkpoint))
            thread.seeds[place] = self._deltas.seeds(found.checkpoint)
            asked = any(channel == INTERRUPT for _, channel, _ in found.pending_writes or [])
            if found.metadata.get(UNFINISHED) or (asked and not thread.asks(place)):
                thread.unfinished.add(place)
            if not is_quiescent(values):
                thread.started.add(place)
            if found.metadata.get("source") == "input":
                thread.openings.add(place)
            if not starting and place.checkpoint_id < thread.closed.get(place.ns, ""):
                return  # a late look at a turn that is over
            for channel in self._policy.messages:
                if values.get(channel):
                    thread.known.note(place.ns, channel, values[channel])

    def plan_put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata) -> PutPlan:
        """Keep `checkpoint` in the scratch tier while its turn is open, and say what to store of it.

        Raises:
            CheckpointError: What of it may be stored can't be told.
            TransientStateLostError: The run goes on from the middle of a turn that isn't here.
        """
        thread_id, parent = locate(config)
        place = CheckpointRef(parent.ns, checkpoint["id"])
        if node := started_by_value(checkpoint):
            raise CheckpointError(
                f"An ordinary channel has started the node {node!r}, as in a graph that is built of Pregel itself. When "
                "its turn is over can't be told, so nothing can be stored. Use StateGraph or @entrypoint."
            )
        source = metadata.get("source")  # none: LangGraph needs an empty one, to put the writes of an "exit" run on
        opening = source == "input"
        closing = place.conversation and not opening and bool(source) and is_quiescent(checkpoint["channel_values"])
        if opening:
            self._take_input(checkpoint["channel_values"].get(START))
        with self.scratch.thread(thread_id) as thread:
            if in_run(config) and (thread.refused or (source == "fork" and parent in thread.unfinished)):
                raise TransientStateLostError
            whole = self._deltas.resolve(thread, parent, checkpoint, metadata)
            stored = self._filter(thread, place, parent, whole, source=source, closing=closing)
            anchor = thread.anchors.get(parent)
            plan = PutPlan(bare(thread_id, *place))
            if closing:
                plan = plan._replace(closing=Whole(config, checkpoint, metadata))
            elif source or stored is None:
                self._keep(thread, place, Whole(config, checkpoint, metadata), anchor)
            if opening:
                thread.openings.add(place)
            if stored is None:
                thread.overtaken.pop(place, None)
                return plan
            kept = filter_metadata(config, metadata, self._policy.for_thread(thread.thread_id))
            return plan._replace(durable=self._durable_put(thread, place, anchor, stored, kept))

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
            parent = thread.parent(place) or CheckpointRef(place.ns, "")
            whole = self._deltas.resolve(thread, parent, held.checkpoint, held.metadata)
            metadata = filter_metadata(held.config, held.metadata, self._policy.for_thread(thread_id))
            anchor = thread.anchors.get(place)
            durable = self._durable_put(thread, place, anchor, self._stub(thread, whole), metadata)
            return PutPlan(bare(thread_id, *place), durable)

    def confirm(self, plan: PutPlan) -> list[TaskWrites]:
        """Note that `plan` was stored; return the writes that were waiting for it."""
        if plan.durable is None:
            return []
        thread_id, place = locate(plan.config)
        with self.scratch.thread(thread_id) as thread:
            waiting = thread.overtaken.pop(place, [])
            if plan.closing is not None:
                thread.close(place)
            thread.note_stored(place, _value_versions(plan.durable.checkpoint))
            thread.seeds[place] = self._deltas.seeds(plan.durable.checkpoint)
        return waiting

    def fail(self, plan: PutPlan) -> None:
        """Keep the end of a turn that could not be stored in RAM: what is stored next brings it along."""
        if plan.closing is not None:
            thread_id, place = locate(plan.config)
            with self.scratch.thread(thread_id) as thread:
                _, parent = locate(plan.closing.config)
                self._keep(thread, place, plan.closing, thread.anchors.get(parent))
                thread.ended |= self._said(plan.closing.checkpoint)

    def check_answer(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str) -> None:
        """Refuse a run that brings an answer to a question which isn't here.

        To be called before the first await: with durability "async" the next node starts at that one.

        Raises:
            TransientStateLostError: `writes` are the answer, or belong to such a run.
        """
        thread_id, place = locate(config)
        with self.scratch.thread(thread_id) as thread:
            answers = task_id == NO_TASK and any(channel == RESUME for channel, _ in writes)
            thread.refused = thread.refused or (answers and not (thread.holds(place) or thread.asks(place)))
            if thread.refused and in_run(config):
                raise TransientStateLostError

    def plan_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> TaskWrites | None:
        """Keep `writes` in the scratch tier, and say what to store of them, if their checkpoint is stored.

        Writes may come before their checkpoint; then they wait for it.
        """
        thread_id, place = locate(config)
        with self.scratch.thread(thread_id) as thread:
            if place.checkpoint_id >= thread.closed.get(place.ns, ""):  # else late: its turn is over
                thread.put_writes(place, writes, task_id, task_path, self._serde)
            if place in thread.openings:  # what the start does follows from the input, which is stored
                writes = [(channel, value) for channel, value in writes if channel in CONTROL]
            waiting = place in thread.overtaken or place not in thread.anchors
            if not (waiting or place in thread.stored):
                return None
            policy = self._policy.for_thread(thread_id)
            filtered = filter_writes(writes, policy, conversation=place.conversation, known=thread.known)
            _dropped_writes.inc(len(writes) - len(filtered))
            if not filtered:
                return None
            call = TaskWrites(bare(thread_id, *place), filtered, task_id, task_path)
            if place in thread.stored:
                return call
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

    def _take_input(self, given: Any) -> None:
        """Give what a caller sends its ids."""
        for channel in self._policy.messages if isinstance(given, dict) else ():
            give_ids(given.get(channel))

    def _said(self, checkpoint: Checkpoint) -> set[str]:
        """Return what the model has said in the turn that is running."""
        return {text for messages in self._conversations(checkpoint) for text in said_last(messages)}

    def _conversations(self, checkpoint: Checkpoint) -> Iterator[list[Any]]:
        values = checkpoint["channel_values"]
        return (values[channel] for channel in self._policy.messages if isinstance(values.get(channel), list))

    def _keep(self, thread: ThreadScratch, place: CheckpointRef, whole: Whole, anchor: str | None) -> None:
        if whole.metadata.get("source") == "loop":
            thread.said |= self._said(whole.checkpoint)
        thread.put(whole.config, whole.checkpoint, _with_run_id(whole.config, whole.metadata), self._serde)
        thread.anchors[place] = anchor

    def _filter(
        self,
        thread: ThreadScratch,
        place: CheckpointRef,
        parent: CheckpointRef,
        whole: Checkpoint,
        *,
        source: str | None,
        closing: bool,
    ) -> Stored | None:
        """Return what is stored of `whole`; None if it stays in RAM.

        A step in the middle of a turn stays there, even if nothing had to be dropped: were it stored, and the process
        gone with a question that was not, an answer would reach a task of this step that is made anew.
        """
        opening = source == "input"
        if source != "loop" or is_quiescent(whole["channel_values"]):
            filtered = self._filtered(thread, place, whole, opening=opening, closing=closing)
            if opening and place.ns == "":
                return Stored(self._folded(self._build(filtered)))
            if closing or filtered.complete:
                return Stored(self._build(filtered))
        another_run = parent in thread.alone and parent in thread.begun
        saved_before = (thread.holds(parent) and not another_run) or parent in thread.started
        if place.conversation and not saved_before:
            thread.alone.add(place)
            return self._stub(thread, whole)
        return self._stub(thread, whole) if place in thread.paused else None

    def _filtered(
        self, thread: ThreadScratch, place: CheckpointRef, whole: Checkpoint, *, opening: bool, closing: bool
    ) -> FilteredCheckpoint:
        unended = thread.said - thread.ended
        if closing:  # what is said last ends the turn, though an earlier checkpoint may have had it
            unended -= {text for messages in self._conversations(whole) for text in said_last(messages[-1:])}
        filtered = filter_checkpoint(
            whole,
            self._policy.for_thread(thread.thread_id),
            closed=place.conversation and (opening or closing),
            conversation=place.conversation,
            known=thread.known,
            unended=unended,
            opening=opening,
        )
        _dropped_values.inc(filtered.dropped)
        return filtered

    def _build(self, filtered: FilteredCheckpoint) -> Checkpoint:
        """Return the checkpoint to store. A channel whose value is dropped gets a new version.

        Savers read a value by its version, and another saver may have stored that of the old one.
        """
        stored = filtered.build()
        versions = stored["channel_versions"]
        dropped = versions.keys() & (filtered.original["channel_values"].keys() - filtered.kept.keys())
        if dropped:
            version: str | float = self._next_version(max(versions.values()), None)
            versions.update(dict.fromkeys(dropped, version))
        return stored

    def _folded(self, stored: Checkpoint) -> Checkpoint:
        """Move the messages of an input to where its first step will write them.

        There they stay if the process dies and another message comes first, and their text is stored once.
        """
        given = stored["channel_values"].get(START, {})
        for channel in self._policy.messages:
            if messages := given.pop(channel, None):
                stored["channel_values"][channel] = fold(stored["channel_values"].get(channel, Chosen.of([])), messages)
                self._advance(stored, channel)
        return stored

    def _stub(self, thread: ThreadScratch, whole: Checkpoint) -> Stored:
        """Return what is stored of a turn that pauses, or of one whose first checkpoint is incomplete.

        The latter is so with durability "exit", which saves once. No node starts from a stub; it holds the user's
        message. It may lack an answer that the same version of its channel has once the turn is closed, and a version
        is stored once, so its messages get a version of their own.
        """
        filtered = filter_checkpoint(
            whole,
            self._policy.for_thread(thread.thread_id),
            closed=False,
            conversation=True,
            known=thread.known,
            unended=thread.said - thread.ended,
        )
        stub = disarmed(self._build(filtered), self._next_version)
        for channel in self._policy.messages:
            if channel in stub["channel_versions"]:
                self._advance(stub, channel)
        return Stored(stub, unfinished=True)

    def _advance(self, checkpoint: Checkpoint, channel: str) -> None:
        versions = checkpoint["channel_versions"]
        versions[channel] = self._next_version(max(versions.values(), default=None), None)

    def _durable_put(
        self,
        thread: ThreadScratch,
        place: CheckpointRef,
        anchor: str | None,
        stored: Stored,
        metadata: CheckpointMetadata,
    ) -> DurablePut:
        """Return how to store a checkpoint as a child of `anchor`. Writes that come meanwhile wait for it."""
        thread.overtaken.setdefault(place, [])
        if stored.unfinished:
            metadata = cast("CheckpointMetadata", {**metadata, UNFINISHED: True})
        checkpoint = stored.checkpoint
        values = checkpoint["channel_values"]
        for channel in self._policy.messages if not self._by_row else ():
            if channel in values:
                values[channel] = values[channel].copied()
        there = thread.stored.get(CheckpointRef(place.ns, anchor or ""), {})
        versions = _value_versions(checkpoint)
        new_versions = {channel: version for channel, version in versions.items() if there.get(channel) != version}
        return DurablePut(bare(thread.thread_id, place.ns, anchor), checkpoint, metadata, new_versions)


def _value_versions(checkpoint: Checkpoint) -> ChannelVersions:
    versions = checkpoint["channel_versions"]
    return {channel: versions[channel] for channel in checkpoint["channel_values"] if channel in versions}


def _with_run_id(config: RunnableConfig, metadata: CheckpointMetadata) -> CheckpointMetadata:
    run_id = find_run_id(config, metadata)
    return {**metadata, "run_id": run_id} if run_id else metadata

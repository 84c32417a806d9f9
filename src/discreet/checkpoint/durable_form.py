"""What the durable tier gets of a checkpoint: its filtered values, under versions that no other value is stored under."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT

from discreet import metrics
from discreet.checkpoint.answers import is_answer
from discreet.checkpoint.channels import (
    PART,
    START,
    WHOLE,
    NextVersion,
    disarmed,
    is_quiescent,
    marked,
    waiting_in,
    was_rearmed,
)
from discreet.checkpoint.checkpoint_ref import CheckpointRef, bare
from discreet.checkpoint.filter import FilteredCheckpoint, filter_checkpoint
from discreet.checkpoint.messages import Chosen, Said, Turn, dangling, fold, said_last
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.thread_scratch import ThreadScratch
from discreet.checkpoint.unnamed_channels import tell_dropped
from discreet.checkpoint.user_input import Read
from discreet.checkpoint.write_plan import DurablePut, Stored
from discreet.state.message_text import all_spoken

ANSWER_BY = "answer_by"
"""In a pause's metadata: until when (ISO 8601) its question can be answered."""

WAITING = "waiting"
"""In a pause's metadata: which nodes wait for an answer, by name, so that any process shows that they do."""

UNFINISHED = "unfinished"
"""A mark in a checkpoint's metadata: it is of the middle of a turn, of which it holds a part."""

_dropped_values = metrics.dropped_writes.labels(kind="channel")


class DurableForm:
    """Makes what is stored of a policy's checkpoints."""

    def __init__(
        self, policy: CheckpointPolicy, next_version: NextVersion, *, by_row: bool, pause_seconds: float
    ) -> None:
        self._policy = policy
        self._pause_seconds = pause_seconds
        self._next_version = next_version
        self._by_row = by_row

    def said_in(self, checkpoint: Checkpoint) -> set[str]:
        """Return what the model has said in the turn that is running."""
        return {text for messages in self.conversations(checkpoint) for text in said_last(messages)}

    def answers_in(self, checkpoint: Checkpoint) -> set[str]:
        """Return what the model has said in the turn that is running, but for texts beside calls."""
        return {
            text
            for messages in self.conversations(checkpoint)
            for text in said_last([each for each in messages if not isinstance(each, AIMessage) or is_answer(each)])
        }

    def conversations(self, checkpoint: Checkpoint) -> Iterator[Sequence[Any]]:
        """Yield the lists of messages in `checkpoint`."""
        values = checkpoint["channel_values"]
        lists = (values.get(channel) for channel in self._policy.messages)
        return (all_spoken(each) for each in lists if isinstance(each, (list, tuple)))

    def at_rest(self, checkpoint: Checkpoint) -> bool:
        """Return whether all that was said has its answer, as in a chat that is made of questions.

        What waits before that is an approval of something that is under way.
        """
        return all(not messages or is_answer(messages[-1]) for messages in self.conversations(checkpoint))

    def waits(self, checkpoint: Checkpoint) -> bool:
        """Return whether the last thing said is a call without a result: a tool of the client runs it, and the result comes alone."""
        return any(map(dangling, self.conversations(checkpoint)))

    def read(self, found: CheckpointTuple) -> Read:
        """Return what a run begins with that goes on from `found`: of its messages, and those that its tasks have written."""
        written = [value for _, channel, value in found.pending_writes or [] if channel in self._policy.messages]
        lists = [*self.conversations(found.checkpoint), *(value for value in written if isinstance(value, list))]
        ids = frozenset(getattr(message, "id", None) for messages in lists for message in messages)
        happened = {channel for _, channel, _ in found.pending_writes or []}
        open_ = ERROR in happened or not is_quiescent(found.checkpoint["channel_values"])
        return Read(ids, found.checkpoint["channel_versions"].get(START), open_ and INTERRUPT not in happened)

    def filtered(
        self, thread: ThreadScratch, place: CheckpointRef, whole: Checkpoint, turn: Turn, *, opening: bool = False
    ) -> FilteredCheckpoint:
        """Return what the policy leaves of `whole`."""
        unended = thread.said - thread.ended
        if turn in {
            Turn.OVER,
            Turn.PAUSED,
        }:  # what is said now is an answer, though an earlier checkpoint may have had it
            unended -= self.said_in(whole)
        filtered = filter_checkpoint(
            whole,
            thread.bound(self._policy),
            turn=turn,
            known=thread.known,
            said=Said(
                came_in=thread.input_of(place.ns),
                stored=thread.known.ids,
                unended=unended,
                read=thread.ended,
                answers=thread.known.answer,
            ),
            before=thread.before(place.ns, self._policy.messages),
            opening=opening,
        )
        _dropped_values.inc(filtered.dropped)
        if turn is Turn.OVER and filtered.dropped:
            tell_dropped(whole, filtered.kept, self._policy)
        return filtered

    def build(self, thread: ThreadScratch, place: CheckpointRef, filtered: FilteredCheckpoint) -> Checkpoint:
        """Return the checkpoint to store. A channel whose value is dropped, or not ours, gets a new version.

        Savers read a value by its version, and another saver may have stored that of the old one.
        """
        stored = filtered.build()
        versions = stored["channel_versions"]
        foreign = thread.foreign_versions.get(place.ns, {})
        renewed = {channel for channel in filtered.kept if versions.get(channel) in foreign.get(channel, ())}
        renewed |= versions.keys() & (filtered.original["channel_values"].keys() - filtered.kept.keys())
        if renewed:
            version: str | float = self._next_version(max(versions.values()), None)
            versions.update(dict.fromkeys(renewed, version))
        return stored

    def folded(self, thread: ThreadScratch, place: CheckpointRef, stored: Checkpoint) -> Checkpoint:
        """Move the messages of an input to where its first step will write them.

        There they stay if the process dies and another message comes first, and their text is stored once.
        """
        given = stored["channel_values"].get(START, {})
        for channel in self._policy.messages:
            if messages := given.pop(channel, None):
                folded = fold(stored["channel_values"].get(channel, Chosen.of([])), messages)
                stored["channel_values"][channel] = folded
                self._advance(stored, channel)
            thread.began[place.ns, channel] = stored["channel_values"].get(channel, Chosen.of([]))
        return stored

    def paused(self, thread: ThreadScratch, place: CheckpointRef, whole: Checkpoint, *, answerable: bool) -> Stored:
        """Return what is stored of a turn that pauses.

        If nothing had to be dropped, and an `answerable` question is all that is open, another process may go on from it.
        """
        if answerable and self.at_rest(whole) and START not in whole["channel_values"]:
            filtered = self.filtered(thread, place, whole, Turn.PAUSED)
            if filtered.complete:
                return Stored(self.build(thread, place, filtered), whole=True)
        waiting = waiting_in(whole["channel_values"])
        return self.stub(thread, place, whole, Turn.PAUSED)._replace(asked=True, waiting=waiting)

    def taken(self, checkpoint: Checkpoint, source: str | None) -> Checkpoint:
        """Return `checkpoint` as LangGraph gave it; a copy of a pause that can only be looked at without nodes that would start."""
        is_copy = source == "fork" and was_rearmed(checkpoint)
        return disarmed(checkpoint, self._next_version) if is_copy else checkpoint

    def stub(self, thread: ThreadScratch, place: CheckpointRef, whole: Checkpoint, turn: Turn) -> Stored:
        """Return what is stored of the middle of a turn, so that another process finds the user's message.

        No node starts from it. It may lack an answer that the same version of its channel has once the turn is closed, and a
        version is stored once, so its messages get a version of their own.
        """
        filtered = self.filtered(thread, place, whole, turn)
        stub = disarmed(self.build(thread, place, filtered), self._next_version)
        for channel in self._policy.messages:
            if channel in stub["channel_versions"]:
                self._advance(stub, channel)
        return Stored(stub, unfinished=True)

    def put(
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
        if stored.asked:
            until = datetime.now(UTC) + timedelta(seconds=self._pause_seconds)
            metadata = cast("CheckpointMetadata", {**metadata, ANSWER_BY: until.isoformat(timespec="seconds")})
        if stored.waiting:
            metadata = cast("CheckpointMetadata", {**metadata, WAITING: stored.waiting})
        checkpoint = marked(stored.checkpoint, WHOLE if stored.whole else PART)
        values = checkpoint["channel_values"]
        for channel in self._policy.messages if not self._by_row else ():
            if channel in values:
                values[channel] = values[channel].copied()
        there = thread.stored.get(CheckpointRef(place.ns, anchor or ""), {})
        versions = value_versions(checkpoint)
        new_versions = {channel: version for channel, version in versions.items() if there.get(channel) != version}
        return DurablePut(bare(thread.thread_id, place.ns, anchor), checkpoint, metadata, new_versions)

    def _advance(self, checkpoint: Checkpoint, channel: str) -> None:
        versions = checkpoint["channel_versions"]
        versions[channel] = self._next_version(max(versions.values(), default=None), None)


def value_versions(checkpoint: Checkpoint) -> ChannelVersions:
    """Return the versions of the channels that have a value in `checkpoint`."""
    versions = checkpoint["channel_versions"]
    return {channel: versions[channel] for channel in checkpoint["channel_values"] if channel in versions}

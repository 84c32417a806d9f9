"""Note what comes in with runs, answers and updates, and make its ids those that are stored: see `user_input`."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import RESUME

from discreet.checkpoint.channels import START, is_quiescent
from discreet.checkpoint.checkpoint_ref import CheckpointRef, in_run, saves_once
from discreet.checkpoint.durable_form import DurableForm
from discreet.checkpoint.message_ids import take_ids
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.thread_scratch import ThreadScratch
from discreet.checkpoint.user_input import Read, UserInput, as_mapping, as_messages, came_first


class InputTracker:
    """Fills each thread's `came_in`."""

    def __init__(self, policy: CheckpointPolicy, form: DurableForm, serde: SerializerProtocol) -> None:
        self._policy = policy
        self._form = form
        self._serde = serde

    def begin(self, thread: ThreadScratch, ns: str, found: CheckpointTuple | None, *, held: bool) -> None:
        """Note what a run of `ns` begins with; `held`: it is in RAM."""
        seen = ns in thread.came_in
        came_in = thread.came_in.setdefault(ns, UserInput())
        if found is not None and not held and is_quiescent(found.checkpoint["channel_values"]):
            came_in.begin_turn()
        thread.read[ns] = self._form.read(found) if found else Read()
        if found is not None and held and not seen:  # a copy of an open turn: of whom its messages are nothing is known
            self.note_all(thread, ns, found.checkpoint)

    def note_all(self, thread: ThreadScratch, ns: str, checkpoint: Checkpoint) -> None:
        """Take all messages of `checkpoint`, those of an input too, for what came in: nothing says whose they are."""
        if came_in := thread.input_of(ns):
            came_in.note(checkpoint["channel_values"].get(START))
            for messages in self._form.conversations(checkpoint):
                came_in.note_messages(messages)

    def note_put(
        self,
        thread: ThreadScratch,
        config: RunnableConfig,
        parent: CheckpointRef,
        checkpoint: Checkpoint,
        source: str | None,
        *,
        goes_on: bool,
    ) -> None:
        """Note what a caller hands over with a run or an update; `goes_on` says that the run doesn't begin with this put."""
        came_in = thread.input_of(parent.ns) or UserInput()  # that of a run that was not seen to begin is not kept
        if source == "input":
            self._note_given(thread, parent.ns, checkpoint, came_in)
        elif source == "update":
            held = thread.get(parent, self._serde)
            there = self._form.read(held).ids if held else frozenset()
            for messages in self._form.conversations(checkpoint):
                came_in.note_messages(message for message in messages if message.id not in there)
        elif parent in thread.openings and not is_quiescent(checkpoint["channel_values"]):
            self._note_first(thread, parent.ns, checkpoint, came_in)
        elif in_run(config) and (saves_once(config) or not goes_on):  # of a command no input is put
            read = thread.read.get(parent.ns) or Read()
            tried_again = read.unfinished and checkpoint["channel_versions"].get(START) == read.input_version
            stored = [thread.known.stored(parent.ns, channel).ids for channel in self._policy.messages]
            there = read.ids.union(came_in.ids, *stored)
            for messages in self._form.conversations(checkpoint) if not tried_again else ():
                came_in.note_messages(came_first(messages, there))

    def _note_given(self, thread: ThreadScratch, ns: str, checkpoint: Checkpoint, came_in: UserInput) -> None:
        """Note the input of a run, before its first step."""
        given, read = checkpoint["channel_values"].get(START), thread.read.get(ns)
        there: AbstractSet[str | None] = read.ids if read else frozenset()
        came_in.given.clear()
        for channel, written in (as_mapping(given) or {}).items():
            if channel in self._policy.messages:
                take_ids(written, self._policy.redact, there=there)
                came_in.note_given(channel, as_messages(written) or [], there=there)
        came_in.note(given)
        if read:  # a command's messages are there already, and no node has run
            new = [m for each in self._form.conversations(checkpoint) for m in _after_read(each, thread, read)]
            take_ids(new, self._policy.redact)
            came_in.note_messages(new)

    def _note_first(self, thread: ThreadScratch, ns: str, checkpoint: Checkpoint, came_in: UserInput) -> None:
        """Note the messages that an input has become, and under which ids, however it was given."""
        if (read := thread.read.get(ns)) is None:
            return
        values = checkpoint["channel_values"]
        for channel in self._policy.messages:
            written = values.get(channel)
            if not isinstance(written, list | tuple):
                continue
            new = [message for message in _after_read(written, thread, read) if isinstance(message, BaseMessage)]
            came_in.note_named(channel, new)
            thread.name_new(ns, channel, [message.id for message in new if not isinstance(message, ToolMessage)])

    def note_writes(
        self, thread: ThreadScratch, place: CheckpointRef, writes: Sequence[tuple[str, Any]], *, from_caller: bool
    ) -> None:
        """Note answers, and what a caller writes itself."""
        for channel, value in writes:
            if channel == RESUME:
                for ns in {"", place.ns} & thread.came_in.keys():
                    thread.came_in[ns].note(value)
            elif from_caller and channel in self._policy.messages:
                take_ids(value, self._policy.redact)
                if came_in := thread.input_of(place.ns):
                    came_in.note_messages(as_messages(value) or ())


def _after_read(messages: Sequence[Any], thread: ThreadScratch, read: Read) -> list[Any]:
    """Return the messages that the run has not read as it began. Stored ones stand in front, and are passed over at once."""
    _, stored = thread.known.front(messages, unchanged=False)
    return [message for message in messages[stored:] if getattr(message, "id", None) not in read.ids]

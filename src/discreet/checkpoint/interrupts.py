"""Decide when a paused turn goes to the spill and comes back. No I/O: the savers carry out what is decided here."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import INTERRUPT

from discreet.checkpoint.channels import is_quiescent
from discreet.checkpoint.checkpoint_ref import CheckpointRef, drains, locate
from discreet.checkpoint.durable_form import ANSWER_BY, UNFINISHED
from discreet.checkpoint.scratch import Scratch
from discreet.checkpoint.serialization import deserialize, serialize
from discreet.checkpoint.spill import Spilled, Version

logger = logging.getLogger(__name__)


class Interrupts:
    """The turns of one saver that wait for a person."""

    def __init__(self, scratch: Scratch, serde: SerializerProtocol) -> None:
        self._scratch = scratch
        self._serde = serde

    def leaving(self, config: RunnableConfig) -> Spilled | None:
        """Return what to spill of the thread, if a task of its newest step has asked a question, calls wait for results, or its run is being drained.

        Whatever changes then is spilled anew: tasks beside the one that asked go on, and must not run again elsewhere.
        """
        thread_id, _ = locate(config)
        with self._scratch.reading(thread_id) as thread:
            head = thread.head("") if thread else None
            if thread is None or head is None or not (drains(config) or thread.is_waiting(CheckpointRef("", head))):
                return None
            spilled = Spilled.now(head, serialize(thread, self._serde))
            thread.spilled = spilled.version
            return spilled

    def may_be_elsewhere(self, config: RunnableConfig, stored: CheckpointTuple | None) -> bool:
        """Return whether another process may have the newest state of a paused turn. It costs a query to know."""
        thread_id, place = locate(config)
        if place.ns:
            return False
        asks = stored is not None and (
            any(key in stored.metadata for key in (ANSWER_BY, UNFINISHED))
            or any(channel == INTERRUPT for _, channel, _ in stored.pending_writes or [])
            or not is_quiescent(stored.checkpoint["channel_values"])  # begun, and perhaps drained
        )
        with self._scratch.reading(thread_id) as thread:
            return asks or (thread is not None and thread.spilled is not None)

    def is_newer(self, version: Version, config: RunnableConfig, stored: CheckpointTuple | None) -> bool:
        """Return whether `version` is the newest state of the thread: newer than what is in RAM, and not overtaken."""
        thread_id, _ = locate(config)
        if stored is not None and version.head < stored.checkpoint["id"]:
            return False
        with self._scratch.reading(thread_id) as thread:
            if thread is None:
                return True
            return version.head >= (thread.head("") or "") and (thread.spilled is None or version > thread.spilled)

    def returning(self, config: RunnableConfig, spilled: Spilled) -> None:
        """Go on with a turn that another process paused."""
        thread_id, _ = locate(config)
        if (thread := deserialize(spilled.payload, thread_id, self._serde)) is not None:
            thread.spilled = spilled.version
            self._scratch.replace(thread)
            logger.info("turn_taken_over", extra={"thread_id": thread_id})

    def ended(self, config: RunnableConfig) -> Spilled:
        """Return the turn that has just ended, to be kept for a while."""
        thread_id, place = locate(config)
        with self._scratch.thread(thread_id) as thread:
            return Spilled.now(
                place.checkpoint_id, serialize(thread, self._serde, upto=place.checkpoint_id), ended=True
            )

    def missing_ended(self, config: RunnableConfig) -> bool:
        """Return whether a checkpoint that `config` names may be one of a turn that is over, and not here."""
        thread_id, place = locate(config)
        with self._scratch.reading(thread_id) as thread:
            return bool(place.checkpoint_id) and not (thread is not None and thread.holds(place))

    def returning_ended(self, config: RunnableConfig, kept: Sequence[Spilled]) -> None:
        """Take in turns that are over, from whichever process kept them."""
        thread_id, _ = locate(config)
        for spilled in kept:
            turn = deserialize(spilled.payload, thread_id, self._serde)
            with self._scratch.thread(thread_id) as thread:
                if turn is not None and spilled.head not in thread.ends:
                    thread.add_ended(turn, spilled.head)

    def over(self, config: RunnableConfig) -> bool:
        """Return whether the thread's turn had been spilled, now that it is over; forget that it was."""
        thread_id, _ = locate(config)
        with self._scratch.reading(thread_id) as thread:
            spilled = thread is not None and thread.spilled is not None
            if thread is not None:
                thread.spilled = None
            return spilled

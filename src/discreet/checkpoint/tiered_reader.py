"""Read both tiers as one. No I/O: the savers read the durable tier and hand over what they found."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointMetadata, CheckpointTuple, writes_sort_key
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import INTERRUPT

from discreet.checkpoint.channels import AT_INPUT, PART, NextVersion, disarmed, is_quiescent, mark_of, rearmed
from discreet.checkpoint.checkpoint_ref import CheckpointRef, bare, in_run, locate
from discreet.checkpoint.durable_form import ANSWER_BY, UNFINISHED, WAITING
from discreet.checkpoint.messages import answerable_calls, without_dead_calls, without_open_calls
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.refusals import lost
from discreet.checkpoint.run_input import Given, goes_on
from discreet.checkpoint.scratch import Scratch
from discreet.checkpoint.thread_scratch import ThreadScratch
from discreet.checkpoint.trace import traced

logger = logging.getLogger(__name__)


class TieredReader:
    """The scratch tier, laid over what the durable tier returns."""

    def __init__(
        self, policy: CheckpointPolicy, scratch: Scratch, serde: SerializerProtocol, next_version: NextVersion
    ) -> None:
        self._policy = policy
        self._scratch = scratch
        self._serde = serde
        self._next_version = next_version

    def held(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that `config` names, if the scratch tier has it."""
        thread_id, place = locate(config)
        with self._scratch.reading(thread_id) as thread:
            return thread.get(place, self._serde) if thread else None

    def settle(self, config: RunnableConfig, stored: CheckpointTuple | None) -> CheckpointTuple | None:
        """Return what `config` names, given what the durable tier has of it.

        Where it names the newest checkpoint, that is the scratch tier's head unless the durable tier's is newer. Then
        another process has moved the thread on, and the turn in RAM is dropped. A run goes on from what is stored of a turn
        that is over, though it may be kept whole to look at. One that is begun anew takes its input again.
        """
        thread_id, place = locate(config)
        if not place.checkpoint_id:
            starting = in_run(config)
            with self._scratch.reading(thread_id) as thread:
                head = thread.head(place.ns, ended=not starting) if thread else None
                if thread and head and (stored is None or head >= stored.checkpoint["id"]):
                    held = thread.get(CheckpointRef(place.ns, head), self._serde)
                    return self._without_dead_calls(held, thread) if held and starting else held
                if thread and thread.head(place.ns) and place.ns == "":
                    logger.info("scratch_stale", extra={"thread_id": thread_id})
                    self._scratch.drop(thread_id)
            if (
                starting
                and stored is not None
                and (stored.metadata.get("source") == "input" or UNFINISHED in stored.metadata)
            ):
                # By the run's id LangGraph would go on from the middle of a turn, of which only its message is stored.
                metadata = cast("CheckpointMetadata", {k: v for k, v in stored.metadata.items() if k != "run_id"})
                stored = stored._replace(metadata=metadata)
        return self.overlay(stored, starting=in_run(config)) if stored else None

    def taking(
        self, config: RunnableConfig, found: CheckpointTuple | None, given: Given | None
    ) -> CheckpointTuple | None:
        """Return `found` as what a run goes on from that was `given` something.

        Calls without a result are there for a run that brings it, or the call itself. Any others are not, so that no model
        meets them; of what the user has read the text stays.

        Raises:
            TransientStateLostError: It brings the result of a call that isn't here, or that was answered before what follows it.
        """
        thread_id, place = locate(config)
        if given is None:
            return found
        if place.ns == "" and given.results - given.calls - (self._answerable(found) if found else frozenset()):
            raise lost(str(found.metadata.get(ANSWER_BY, "")) if found else "")
        if found is None or goes_on(config, found) or not any(map(_has_tool_traffic, self._conversations(found))):
            return found
        with self._scratch.reading(thread_id) as thread:
            at_rest = is_quiescent(found.checkpoint["channel_values"])
            read = None if at_rest else set(thread.ended) if thread else set()
        if (
            given.ids
            and None not in given.ids
            and given.ids <= {message.id for messages in self._conversations(found) for message in messages}
        ):
            read = set()  # a message comes again, and its turn begins anew
        # Who gives results alone gives some again after a failure; in a whole conversation each has its place by its id.
        anew = given.results if given.alone else frozenset[str]()
        return self._with_messages(
            found, lambda messages: without_open_calls(messages, read, given=given.results | given.calls, anew=anew)
        )

    def refuse_answer(self, found: CheckpointTuple | None) -> None:
        """Refuse an answer by the id of its question where the pause isn't: LangGraph would tell nobody of it.

        Raises:
            TransientStateLostError: It isn't here, nor can it be answered anywhere.
        """
        if found is None:
            return
        thread_id, place = locate(found.config)
        asks = any(channel == INTERRUPT for _, channel, _ in found.pending_writes or [])
        with self._scratch.reading(thread_id) as thread:
            here = thread is not None and thread.holds(place)
        if not here and (UNFINISHED in found.metadata or (asks and mark_of(found.checkpoint) == PART)):
            raise lost(str(found.metadata.get(ANSWER_BY, "")))

    def _without_dead_calls(self, found: CheckpointTuple, thread: ThreadScratch) -> CheckpointTuple:
        """Return `found` without them, in its writes too: a subgraph writes the whole conversation that it was given."""
        return self._with_messages(found, lambda messages: without_dead_calls(messages, thread.ended))

    def _with_messages(
        self, found: CheckpointTuple, change: Callable[[list[BaseMessage]], list[BaseMessage]]
    ) -> CheckpointTuple:
        """Return `found` with its conversations changed, in its writes too."""

        def changed(channel: str, value: Any) -> Any:
            return change(value) if channel in self._policy.messages and isinstance(value, list) else value

        values = {channel: changed(channel, value) for channel, value in found.checkpoint["channel_values"].items()}
        writes = [(task_id, channel, changed(channel, value)) for task_id, channel, value in found.pending_writes or []]
        return found._replace(checkpoint={**found.checkpoint, "channel_values": values}, pending_writes=writes)

    def _conversations(self, found: CheckpointTuple) -> list[list[BaseMessage]]:
        values = found.checkpoint["channel_values"]
        return [values[channel] for channel in self._policy.messages if isinstance(values.get(channel), list)]

    def _answerable(self, found: CheckpointTuple) -> frozenset[str]:
        """Return the calls whose results may come, in a checkpoint and in what its tasks have written."""
        written = [value for _, channel, value in found.pending_writes or [] if channel in self._policy.messages]
        lists = [*self._conversations(found), *(value if isinstance(value, list) else [value] for value in written)]
        return frozenset().union(*map(answerable_calls, lists))

    def may_be_traced(self, config: RunnableConfig) -> bool:
        """Return whether a checkpoint that `config` names, and that nobody has, may be a step of a turn that is over."""
        _, place = locate(config)
        return self._policy.trace and place.ns == "" and bool(place.checkpoint_id)

    def traced_step(self, config: RunnableConfig, closing: CheckpointTuple | None) -> CheckpointTuple | None:
        """Return the step that `config` names, given the checkpoint that may list it."""
        _, place = locate(config)
        steps = traced(closing) if closing else []
        return next((step for step in steps if step.checkpoint["id"] == place.checkpoint_id), None)

    def overlay(self, stored: CheckpointTuple, *, starting: bool = False) -> CheckpointTuple:
        """Return `stored` with whole writes where the scratch tier has them.

        Where a task asked a question and its turn is neither here nor whole, no node is about to run for a run that is `starting`: an answer
        would reach a call made anew. Whoever looks sees which nodes wait, while their question can be answered somewhere.
        """
        thread_id, place = locate(stored.config)
        with self._scratch.reading(thread_id) as thread:
            written = thread.writes(place, self._serde) if thread else []
            paths = {**getattr(stored, "paths", {}), **(thread.paths(place) if thread else {})}
            here = thread is not None and thread.holds(place)
            parent = thread.parent(place) if thread is not None and here else None
        if parent is not None:  # in RAM, of a turn that is kept
            stored = stored._replace(parent_config=bare(thread_id, *parent))
        tasks = {task_id for task_id, _, _ in written}
        kept = [write for write in stored.pending_writes or [] if write[0] not in tasks]
        asks = any(channel == INTERRUPT for _, channel, _ in kept)
        if asks and not here and mark_of(stored.checkpoint) == PART:
            checkpoint = disarmed(stored.checkpoint, self._next_version)
            waiting = None if starting else _waiting(stored)
            stored = stored._replace(checkpoint=rearmed(checkpoint, waiting) if waiting else checkpoint)
        if kept and written:
            # As LangGraph applies them, whoever has them: task by task, by where these stand in the step.
            ordered = sorted([*kept, *written], key=lambda write: writes_sort_key(paths.get(write[0], ""), write[0]))
            return stored._replace(pending_writes=ordered)
        return stored._replace(pending_writes=[*kept, *written])

    def listing(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Listing:
        """Return a listing that begins with what the scratch tier has of it."""
        thread_ids = [locate(config)[0]] if config else self._scratch.thread_ids()
        found: list[CheckpointTuple] = []
        for thread_id in thread_ids:
            where: RunnableConfig = {"configurable": {**(config or {}).get("configurable", {}), "thread_id": thread_id}}
            with self._scratch.reading(thread_id) as thread:
                if thread is not None:
                    found += thread.saver(self._serde).list(where, filter=filter, before=before, limit=limit)
        found.sort(key=lambda item: item.checkpoint["id"], reverse=True)
        return Listing(found, self, limit, steps=not filter)


class Listing:
    """Merges a listing of the durable tier into the scratch tier's, newest first, at most `limit` in all."""

    def __init__(
        self, held: list[CheckpointTuple], reader: TieredReader, limit: int | None, *, steps: bool = False
    ) -> None:
        """`steps`: yield those of turns that are over, where they are listed, too."""
        self._held = held
        self._known = {locate(item.config) for item in held}
        self._reader = reader
        self._steps = steps
        self._left = limit

    def upto(self, stored: CheckpointTuple) -> Iterator[CheckpointTuple]:
        """Yield what is newer than `stored`, then `stored` itself."""
        while self._held and self._held[0].checkpoint["id"] > stored.checkpoint["id"]:
            yield from self._take(self._held.pop(0))
        if locate(stored.config) not in self._known:
            yield from self._take(self._reader.overlay(stored))
        for step in traced(stored) if self._steps else ():
            if locate(step.config) not in self._known:
                yield from self._take(step)

    def rest(self) -> Iterator[CheckpointTuple]:
        """Yield what is older than everything stored."""
        for item in self._held:
            yield from self._take(item)

    def _take(self, item: CheckpointTuple) -> Iterator[CheckpointTuple]:
        if self._left is None:
            yield item
        elif self._left > 0:
            self._left -= 1
            yield item


def _waiting(stored: CheckpointTuple) -> Mapping[str, Any] | None:
    """Return which nodes wait at a pause, unless its time is over."""
    if stored.metadata.get("source") == "input":
        return AT_INPUT
    until, waiting = stored.metadata.get(ANSWER_BY), stored.metadata.get(WAITING)
    is_open = isinstance(until, str) and datetime.fromisoformat(until) > datetime.now(UTC)
    return waiting if is_open and isinstance(waiting, Mapping) else None


def _has_tool_traffic(messages: Sequence[BaseMessage]) -> bool:
    return any(isinstance(message, ToolMessage) or getattr(message, "tool_calls", None) for message in messages)

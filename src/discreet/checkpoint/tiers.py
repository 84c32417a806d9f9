"""Decide, for every write of LangGraph, what goes to which tier. No I/O: the savers carry out what is decided here.

Stored are: the root graph's input, so that the user's message is safe at once; a checkpoint that closes its turn (no node
is about to run); and what a caller makes of the state, if it is complete (the policy dropped nothing). Everything else
stays in RAM. So a parent in the durable tier is the nearest stored ancestor, and which versions are new is relative to
that one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, CheckpointTuple, DeltaChannelHistory
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME

from discreet import metrics
from discreet.checkpoint.channels import (
    CONTROL,
    NO_TASK,
    START,
    WHOLE,
    NextVersion,
    is_quiescent,
    mark_of,
)
from discreet.checkpoint.checkpoint_ref import CheckpointRef, bare, in_run, locate
from discreet.checkpoint.deltas import Deltas
from discreet.checkpoint.durable_form import ANSWER_BY, UNFINISHED, DurableForm, value_versions
from discreet.checkpoint.filter import filter_metadata, filter_writes, find_run_id, is_harmless
from discreet.checkpoint.input_tracker import InputTracker
from discreet.checkpoint.messages import Said, Turn
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.refusals import lost, refuse_lost, refuse_pregel
from discreet.checkpoint.run_input import Given, orphans, this_run
from discreet.checkpoint.scratch import Scratch
from discreet.checkpoint.shown import Shown, tags_in
from discreet.checkpoint.thread_operations import by_task
from discreet.checkpoint.thread_scratch import TaskWrites, ThreadScratch
from discreet.checkpoint.trace import TRACE, is_traced, trace_of
from discreet.checkpoint.user_input import as_mapping, as_messages
from discreet.checkpoint.write_plan import Held, PutPlan, Stored, Whole
from discreet.errors import ReadOnlyServerError, StorageError, TransientStateLostError
from discreet.redaction.thread_values import TOOL_SECONDS

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
        self.scratch = scratch
        self._serde = serde
        self._deltas = Deltas(policy, serde)
        self._form = form = DurableForm(policy, next_version, by_row=by_row, pause_seconds=scratch.pause_seconds)
        self._inputs = InputTracker(policy, form, serde)

    def unknown(self, config: RunnableConfig, *, updating: bool = False) -> RunnableConfig | None:
        """Return where to look up the checkpoint that `config` names, if nobody knows whether it is stored.

        Or, for an update, which of its messages are: when a turn is over that is forgotten until a run begins.
        """
        thread_id, place = locate(config)
        if not place.checkpoint_id:
            return None
        with self.scratch.reading(thread_id) as thread:
            forgotten = thread is not None and updating and place in thread.stored and not thread.known.ids
            known = thread is not None and place in thread.anchors and not forgotten
        return None if known else bare(thread_id, *place)

    def named(self, found: CheckpointTuple | None, given: Given | None) -> Given | None:
        """Return what a run was given, with the ids under which it is stored; those that another saver has stored in `found` stay."""
        if given is None:
            return None
        there = self._form.read(found).ids if found is not None else frozenset()
        return given.with_stored_ids(self._policy.redact, there=there)

    def note_read(self, config: RunnableConfig, found: CheckpointTuple | None, given: Given | None) -> None:
        """Note that the user has read what was said up to `found`, if the last run returned there in the middle of a turn, and more is `given`."""
        thread_id, place = locate(found.config if found else config)
        with self.scratch.reading(thread_id) as thread:
            if found is not None and given is not None and not place.ns and thread and _is_held(thread, place, found):
                self._note_read(thread, found)

    def _note_read(self, thread: ThreadScratch, held: CheckpointTuple | None) -> None:
        if held is None or thread.run is None or not thread.run.returned:
            return
        failed = any(channel == ERROR for _, channel, _ in held.pending_writes or [])
        if not failed and not is_quiescent(held.checkpoint["channel_values"]):
            thread.ended |= self._form.said_in(held.checkpoint)

    def begin(self, config: RunnableConfig, found: CheckpointTuple | None, given: Given | None = None) -> None:
        """Take note of the checkpoint that a run is about to go on from, with what it was `given`.

        Raises:
            TransientStateLostError: It is named and nowhere any more. LangGraph would begin an empty thread.
        """
        thread_id, place = locate(found.config if found else config)
        if (found is None and place.checkpoint_id and place.ns == "") or (found is not None and is_traced(found)):
            raise TransientStateLostError
        with self.scratch.thread(thread_id) as thread:
            held = _is_held(thread, place, found)
            if place.ns == "":
                thread.refused = False
                waits = place in thread.waits
                thread.answering = place if waits and given is not None and given.alone else None
                if not waits or (given is not None and not given.alone):
                    thread.begun.add(place)
            self._inputs.begin(thread, place.ns, found, held=held)
            if place.ns == "":
                thread.run = this_run()
        if found is not None and not held:
            self.learn(found, starting=True)
            self._adopt(found)

    def unseeded(self, found: CheckpointTuple | None) -> list[str]:
        """Return the delta channels whose value in `found` has to be asked for, since another saver stored it."""
        return self._deltas.unseeded(found.checkpoint) if found else []

    def seed(self, found: CheckpointTuple, history: Mapping[str, DeltaChannelHistory]) -> None:
        """Take note of the values of delta channels in `found`."""
        thread_id, place = locate(found.config)
        with self.scratch.thread(thread_id) as thread:
            thread.seeds.setdefault(place, {}).update(self._deltas.seeds_of(history))

    def learn(self, found: CheckpointTuple | None, *, starting: bool = False) -> None:
        """Take note of a checkpoint of the durable tier; `starting` says that a run goes on from it."""
        if found is None:
            return
        thread_id, place = locate(found.config)
        values = found.checkpoint["channel_values"]
        mark = mark_of(found.checkpoint)
        with self.scratch.thread(thread_id) as thread:
            thread.note_stored(place, value_versions(found.checkpoint) if mark else {})
            thread.note_seeds(place, self._deltas.seeds(found.checkpoint))
            asked = any(channel == INTERRUPT for _, channel, _ in found.pending_writes or [])
            if mark and (found.metadata.get(UNFINISHED) or (asked and mark != WHOLE and not thread.asks(place))):
                thread.unfinished.add(place)
                thread.answer_by = str(found.metadata.get(ANSWER_BY, ""))
            if mark == WHOLE:
                thread.whole.add(place)
            if not is_quiescent(values):
                thread.started.add(place)
            if found.metadata.get("source") == "input":
                thread.openings.add(place)
            rows = self._note_shown(thread, found)
            if not mark:
                self._note_foreign(thread, place, found.checkpoint, rows)
            elif starting or place.checkpoint_id >= thread.closed.get(
                place.ns, ""
            ):  # else a late look at a turn that is over
                for channel in self._policy.messages:
                    if values.get(channel):
                        thread.known.note(place.ns, channel, values[channel], rows.get(channel))

    def _note_shown(self, thread: ThreadScratch, found: CheckpointTuple) -> Mapping[str, Any]:
        """Note the values of the thread's placeholders, and return what is stored of the channels that are shown otherwise."""
        if not isinstance(found, Shown):
            return {}
        thread.values.update(found.values)
        thread.held.update(found.values)
        for channel in found.rows.keys() - set(self._policy.messages):
            thread.known.note_value(channel, found.checkpoint["channel_values"][channel], found.rows[channel])
        return found.rows

    def _note_foreign(
        self, thread: ThreadScratch, place: CheckpointRef, checkpoint: Checkpoint, rows: Mapping[str, Any]
    ) -> None:
        """Note what another saver stored. Of whom its human messages are nothing says, so they are the user's."""
        thread.note_foreign(place, checkpoint["channel_versions"])
        self._inputs.note_all(thread, place.ns, checkpoint)
        for channel in rows.keys() & set(self._policy.messages):
            for shown, row in zip(checkpoint["channel_values"][channel], rows[channel], strict=True):
                if shown is not row:
                    thread.known.note_foreign(shown, row, thread.bound(self._policy))

    def _adopt(self, found: CheckpointTuple) -> None:
        """Make a stored checkpoint that lacks nothing the open turn, with what its tasks have written and asked.

        That is one of another saver, and a pause of ours of which nothing had to be dropped.
        """
        thread_id, place = locate(found.config)
        written, paths = found.pending_writes or [], getattr(found, "paths", {})
        asked = any(channel == INTERRUPT for _, channel, _ in written)
        # An update leaves its writes at the end of the turn before it.
        if (mark_of(found.checkpoint) or WHOLE) != WHOLE or (
            not asked and is_quiescent(found.checkpoint["channel_values"])
        ):
            return
        with self.scratch.thread(thread_id) as thread:
            if place.checkpoint_id < thread.closed.get(place.ns, ""):
                return
            whole = Whole(found.parent_config or bare(thread_id, place.ns, None), found.checkpoint, found.metadata)
            self._keep(thread, place, whole, place.checkpoint_id)
            for number, (task_id, parts) in enumerate(by_task(written).items()):
                for writes in parts:
                    thread.put_writes(place, writes, task_id, paths.get(task_id, f"{number:06}"), self._serde)

    def plan_put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata) -> PutPlan:
        """Keep `checkpoint` in the scratch tier while its turn is open, and say what to store of it.

        Raises:
            CheckpointError: What of it may be stored can't be told.
            TransientStateLostError: The run goes on from the middle of a turn that isn't here.
        """
        thread_id, parent = locate(config)
        place = CheckpointRef(parent.ns, checkpoint["id"])
        source = metadata.get("source")  # none: LangGraph needs an empty one, to put the writes of an "exit" run on
        checkpoint = self._form.taken(checkpoint, source)
        at_rest = is_quiescent(checkpoint["channel_values"])
        if at_rest:  # so does every checkpoint of a graph look that is built of Pregel itself
            refuse_pregel(checkpoint)
        kept = self._policy.keeps(place.ns)
        opening = source == "input"
        closing = kept and not opening and bool(source) and at_rest
        with self.scratch.thread(thread_id) as thread:
            refuse_lost(thread, config, parent, source)
            whole = self._deltas.resolve(thread, parent, checkpoint, metadata) if kept else checkpoint
            if source == "update" and not thread.is_foreign(parent):
                self._note_update(thread, parent, whole)
            if kept:
                self._inputs.note_put(thread, config, parent, whole, source, goes_on=_is_next(thread, parent))
            stored = self._filter(thread, place, parent, whole, source=source, closing=closing) if kept else None
            anchor = thread.anchors.get(parent)
            plan = PutPlan(bare(thread_id, *place))
            if closing:
                waits = stored is not None and stored.asked
                plan = plan._replace(closing=Whole(config, checkpoint, metadata), waits=waits)
            elif source or stored is None:
                self._keep(thread, place, Whole(config, checkpoint, metadata), anchor)
            if opening:
                thread.openings.add(place)
            if stored is None:
                thread.overtaken.pop(place, None)
                return plan
            if stored.whole:
                thread.whole.add(place)
            stored_metadata = filter_metadata(config, metadata, thread.bound(self._policy))
            if closing and self._policy.trace and place.ns == "":
                stored_metadata = cast("CheckpointMetadata", {**stored_metadata, TRACE: trace_of(thread, self._serde)})
            return plan._replace(durable=self._form.put(thread, place, anchor, stored, stored_metadata))

    def _note_update(self, thread: ThreadScratch, parent: CheckpointRef, updated: Checkpoint) -> None:
        """Note that what was said before an update has been read: the turn has stopped, at a static breakpoint say.

        Raises:
            TransientStateLostError: It brings the result of a call that isn't here. No provider would take that.
        """
        held = thread.get(parent, self._serde)
        self._note_read(thread, held)
        there = self._form.read(held).ids if held else frozenset()
        for messages in self._form.conversations(updated):
            if any(message.id not in there for message in orphans(messages)):
                raise lost(thread.answer_by)

    def plan_pause(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]]) -> PutPlan | None:
        """Say what to store of a checkpoint in RAM at which a task has just asked a question.

        If the policy dropped nothing of it, another process finds it as it is, and the question can be answered there. Else
        it finds a thread in which no node is about to run: it can take a new message, but an answer to the question finds
        nothing to go to, where it could reach a call made anew.
        """
        thread_id, place = locate(config)
        if not self._policy.keeps(place.ns) or all(channel != INTERRUPT for channel, _ in writes):
            return None
        with self.scratch.thread(thread_id) as thread:
            held = thread.get(place, self._serde)
            if held is None:
                thread.paused.add(place)  # the question came before its checkpoint
                return None
            if place in thread.overtaken:
                thread.asked[place] = writes  # it is being stored; `replan_pause` comes after
                return None
            if place in thread.openings or thread.is_foreign(place):
                return None  # what is stored may be all there is
            thread.ended |= self._form.said_in(held.checkpoint)  # the user has read it, whatever becomes of the turn
            answerable = self._form.at_rest(held.checkpoint) and self._is_answerable(thread, place, writes)
            if place in thread.stored and (answerable if place in thread.whole else place not in thread.alone):
                return None
            thread.alone.discard(place)
            thread.whole.discard(place)
            parent = thread.parent(place) or CheckpointRef(place.ns, "")
            whole = self._deltas.resolve(thread, parent, held.checkpoint, held.metadata)
            stored = self._form.paused(thread, place, whole, answerable=answerable)
            if stored.whole:
                thread.whole.add(place)
            metadata = filter_metadata(held.config, held.metadata, thread.bound(self._policy))
            anchor = thread.anchors.get(place)
            if anchor == place.checkpoint_id:
                anchor = thread.anchors.get(parent, parent.checkpoint_id or None)
            return PutPlan(bare(thread_id, *place), self._form.put(thread, place, anchor, stored, metadata))

    def _is_answerable(self, thread: ThreadScratch, place: CheckpointRef, writes: Sequence[tuple[str, Any]]) -> bool:
        """Return whether an answer given elsewhere would find the question that was asked here.

        It wouldn't if the task that asked had had an answer that isn't stored, or a subgraph asked, or a part of the step is
        done: these would run anew.
        """
        given = [answer for channel, answers in writes if channel == RESUME for answer in _as_list(answers)]
        return (
            all(is_harmless(answer, self._policy) for answer in given)
            and not thread.has_inside(place)
            and not thread.has_output(place)
        )

    def confirm(self, plan: PutPlan) -> list[TaskWrites]:
        """Note that `plan` was stored; return the writes that were waiting for it."""
        if plan.durable is None:
            return []
        thread_id, place = locate(plan.config)
        with self.scratch.thread(thread_id) as thread:
            waiting = thread.overtaken.pop(place, [])
            keep = self.scratch.keep_closed
            if plan.closing is not None and (plan.waits or keep):
                self._keep_end(thread, place, plan)
            if plan.closes:
                thread.close(place, keep)
            thread.note_stored(place, value_versions(plan.durable.checkpoint))
            thread.note_seeds(place, self._deltas.seeds(plan.durable.checkpoint))
        return waiting

    def has_unknown_tags(self, config: RunnableConfig, checkpoint: Checkpoint) -> bool:
        """Return whether what is new in `checkpoint` has tags that this saver doesn't know: nodes that mask the state may have handed them out."""
        given = (as_mapping(checkpoint["channel_values"].get(START)) or {}).items()
        lists = [as_messages(value) or () for channel, value in given if channel in self._policy.messages]
        with self.scratch.reading(locate(config)[0]) as thread:
            known = thread.values if thread else {}
            for messages in (*lists, *self._form.conversations(checkpoint)):
                _, stored = thread.known.front(messages, unchanged=False) if thread else (None, 0)
                told = (message for message in messages[stored:] if not isinstance(message, AIMessage))
                if any(tags_in(message) - known.keys() for message in told):
                    return True
        return False

    def note_values(self, config: RunnableConfig, values: Mapping[str, str]) -> None:
        """Note what the vault has of a thread."""
        with self.scratch.thread(locate(config)[0]) as thread:
            thread.values.update(values)
            thread.held.update(values)

    def to_hold(self, config: RunnableConfig, plan: PutPlan | None = None) -> Held | None:
        """Return which values the vault is to be given, now that what is `plan`ned is stored; None if it need not be asked.

        The end of a turn, and a pause, say how long the thread's values live from then on, also where none is new.
        """
        thread_id, _ = locate(config)
        over = plan is not None and plan.closes
        pauses = plan is not None and plan.durable is not None and ANSWER_BY in plan.durable.metadata
        with self.scratch.reading(thread_id) as thread:
            if thread is None or self._policy.values is None:
                return None
            new = {name: value for name, value in thread.values.items() if name not in thread.held}
            there = thread.values and (over or pauses)
        return Held(new, None if over else self.scratch.pause_seconds + TOOL_SECONDS) if new or there else None

    def note_held(self, config: RunnableConfig, held: Held) -> None:
        """Note that the vault has values."""
        with self.scratch.reading(locate(config)[0]) as thread:
            if thread is not None:
                thread.held.update(held.values)

    def replan_pause(self, plan: PutPlan) -> PutPlan | None:
        """Say what to store anew of a checkpoint at which a task has asked while it was being stored."""
        thread_id, place = locate(plan.config)
        with self.scratch.reading(thread_id) as thread:
            writes = thread.asked.pop(place, None) if thread else None
        return self.plan_pause(plan.config, writes) if writes else None

    def fail(self, plan: PutPlan, error: BaseException) -> None:
        """Keep the end of a turn that could not be stored in RAM: what is stored next brings it along.

        A message that the database refused is not kept, nor is the end of a turn of which nothing could be stored since the database
        takes no writes: whoever looks would see what nobody else does.
        """
        thread_id, place = locate(plan.config)
        with self.scratch.thread(thread_id) as thread:
            if plan.closing is None:
                if place in thread.openings and isinstance(error, StorageError):
                    thread.forget(place)
            elif not isinstance(error, ReadOnlyServerError) or thread.is_stored(place.ns):
                self._keep_end(thread, place, plan)
                thread.ended |= self._form.answers_in(plan.closing.checkpoint)

    def check_answer(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str) -> None:
        """Refuse a run that brings an answer to a question which isn't here; else note what a caller writes with it.

        To be called before the first await: with durability "async" the next node starts at that one, and LangGraph puts the
        checkpoint that has these writes without waiting for them.

        Raises:
            TransientStateLostError: `writes` are the answer, or belong to such a run.
        """
        thread_id, place = locate(config)
        with self.scratch.thread(thread_id) as thread:
            answers = task_id == NO_TASK and any(channel == RESUME for channel, _ in writes)
            here = (thread.holds(place) or thread.asks(place)) and place not in thread.waits
            thread.refused = thread.refused or (answers and not here)
            if thread.refused and in_run(config):
                raise lost(thread.answer_by)
            self._inputs.note_writes(thread, place, writes, from_caller=task_id == NO_TASK or not in_run(config))

    def plan_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> TaskWrites | None:
        """Keep `writes` in the scratch tier, and say what to store of them, if their checkpoint is stored.

        Writes may come before their checkpoint; then they wait for it.
        """
        thread_id, place = locate(config)
        with self.scratch.thread(thread_id) as thread:
            over = place.checkpoint_id < thread.closed.get(place.ns, "")
            if not over or thread.holds(place):
                thread.put_writes(place, writes, task_id, task_path, self._serde)
            if not self._policy.keeps(place.ns):
                return None
            if place in thread.openings:  # what the start does follows from the input, which is stored
                writes = [(channel, value) for channel, value in writes if channel in CONTROL]
            waiting = place in thread.overtaken or place not in thread.anchors
            if not (waiting or place in thread.stored):
                return None
            policy = thread.bound(self._policy)
            said = Said(came_in=thread.input_of(place.ns), stored=thread.known.ids, answers=thread.known.answer)
            filtered = filter_writes(writes, policy, known=thread.known, said=said)
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
                thread.forget_runs(set(run_ids))

    def forget_history(self, thread_ids: Sequence[str], *, turns: bool) -> None:
        """Keep the newest checkpoint of these threads; `turns` drops even that."""
        for thread_id in set(thread_ids).intersection(self.scratch.thread_ids()):
            if turns:
                self.scratch.drop(thread_id)
                continue
            with self.scratch.thread(thread_id) as thread:
                thread.keep_heads()

    def _keep_end(self, thread: ThreadScratch, place: CheckpointRef, plan: PutPlan) -> None:
        """Keep the end of a run in RAM."""
        if plan.closing is not None:
            _, parent = locate(plan.closing.config)
            self._keep(thread, place, plan.closing, thread.anchors.get(parent))
        if plan.waits and plan.closing is not None:
            thread.waits.add(place)
            thread.ended |= self._form.said_in(plan.closing.checkpoint)  # the user has read it

    def _keep(self, thread: ThreadScratch, place: CheckpointRef, whole: Whole, anchor: str | None) -> None:
        if whole.metadata.get("source") == "loop":
            thread.said |= self._form.said_in(whole.checkpoint)
        thread.put(whole.config, whole.checkpoint, whole.metadata, self._serde)
        if run_id := find_run_id(whole.config, whole.metadata):
            thread.runs[place] = run_id
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
        if source != "loop" or closing:
            turn = Turn.OVER if closing else Turn.OPEN
            if opening:
                over = thread.is_foreign(parent) and not thread.holds(parent) and parent not in thread.started
                turn = Turn.OVER if over else Turn.LEFT
            filtered = self._form.filtered(thread, place, whole, turn, opening=opening)
            if opening and parent == thread.answering:
                return None  # there is nothing to store of it, and the client may send it again
            if opening and place.ns == "":
                return Stored(self._form.folded(thread, place, self._form.build(thread, place, filtered)))
            if closing or filtered.complete:
                asked = closing and place.ns == "" and self._form.waits(whole)
                return Stored(self._form.build(thread, place, filtered), asked=asked, whole=filtered.complete)
        if place in thread.paused:
            thread.ended |= self._form.said_in(whole)
            return self._form.paused(thread, place, whole, answerable=not thread.has_inside(place))
        if _is_next(thread, parent):
            return None
        thread.alone.add(place)  # with "exit" it is saved before it is known whether it asked or failed
        return self._form.stub(thread, place, whole, Turn.OPEN)


def _is_held(thread: ThreadScratch, place: CheckpointRef, found: CheckpointTuple | None) -> bool:
    """Return whether a checkpoint is here, and not only what the durable tier has of it."""
    return thread.is_open(place) or (thread.holds(place) and not (found and mark_of(found.checkpoint)))


def _is_next(thread: ThreadScratch, parent: CheckpointRef) -> bool:
    """Return whether what follows `parent` goes on with the turn that is here, and doesn't begin it."""
    another_run = parent in thread.begun and (parent in thread.alone or parent in thread.waits)
    return (thread.holds(parent) and not another_run) or parent in thread.started


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]

"""What our saver must show, told by what LangGraph's own shows: the policy's rules as a projection.

Once a turn is over, its messages but the user's and the answers are gone, what remains is redacted, and a channel that
the policy doesn't name is empty. Until then everything is whole. A checkpoint of a turn that is over is there if it is
an input or an end; others may be. What is stored of messages is told in `projection`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.types import StateSnapshot

from against_stock.projection import (
    SECRET,
    TOOL_ANSWERED,
    Known,
    LendingRedactor,
    Projection,
    Turn,
    came_first,
    dead_rounds,
    is_answer,
    lone_rounds,
    project,
    project_input,
    said_last,
    spoken,
    was_read,
    with_stored_ids,
)
from against_stock.sides import Put
from discreet.checkpoint.filter import REDACTED

Pause = Literal["", "stub", "whole", "either"]
Dead = tuple[tuple[BaseMessage, BaseMessage | None], ...]
"""Calls without a result and the results beside them, each with what stays of it."""


@dataclass(frozen=True)
class View:
    """How a checkpoint of the stock saver looks over ours."""

    dropped: frozenset[str] = frozenset()
    """Ids of messages that are gone."""
    lost: Any = None
    """A value of the private channel that is gone."""
    folded: tuple[tuple[int, BaseMessage], ...] = ()
    """Messages of an input that are where its first step would write them, with their position there."""
    made: Mapping[tuple[str | None, str], BaseMessage] = field(default_factory=dict)
    """What stands in the place of a message, by its id and text: such as a line that says that a tool answered."""

    def messages(self, messages: Iterable[BaseMessage]) -> list[BaseMessage]:
        """Return those that are there."""
        shown = [
            self.made.get((message.id, message.text), message) for message in messages if message.id not in self.dropped
        ]
        there = {message.id for message in shown}
        for place, message in self.folded:
            if message.id not in there:
                shown.insert(place, message)
        return shown

    def giving_up(self, dead: Dead) -> View:
        """Return the view without these messages, or with what stays of them."""
        made = {(m.id, m.text): stays for m, stays in dead if stays is not None}
        gone = {m.id or "" for m, stays in dead if stays is None}
        return replace(self, dropped=self.dropped | gone, made={**self.made, **made})

    def projected(self, put: Put, of: Projection, given: Projection | None = None) -> View:
        """Return the view once `put` is only in the durable tier, which has `of` its messages and of those of an input."""
        shown = self.messages(put.messages)
        more = [m for m in put.given if given and m.id in given.kept and m.id not in of.kept]
        return View(
            self.dropped | {m.id for m in shown if m.id and m.id not in of.kept},
            put.private,
            (*self.folded, *enumerate(more, len(of.kept))),
            {**self.made, **{(m.id, m.text): of.made[m.id] for m in put.messages if m.id in of.made}},
        )


@dataclass(frozen=True)
class Start:
    """How a run sees the checkpoint that it goes on from."""

    stock_id: str
    view: View
    dead: Dead = ()
    """Tool calls that a new message leaves behind, or has. They show until a node writes messages again."""
    version: Any = None
    """Of the channel of messages."""

    @property
    def running(self) -> View:
        """What the nodes see."""
        return self.view.giving_up(self.dead)


@dataclass(frozen=True)
class Record:
    """A checkpoint of the root graph."""

    put: Put
    ended: int
    """How many turns of the thread had ended before it: RAM holds those made since the last end."""
    closing: bool
    """Whether it ended a turn."""
    whole: View
    """While its turn is in RAM."""
    stored: View
    """Afterwards."""
    foreign: bool = False
    """Whether LangGraph's saver wrote it into our rows, where it stays as it is."""
    waits: bool = False
    """Whether a run ended there in a call, the result of which may come: the turn is open until then."""
    alone: bool = False
    """Whether it is an input of such results, of which nothing is stored."""
    adopted: bool = False
    """Whether this process goes on from it in the middle of its turn, though it was only in the durable tier."""
    pause: Pause = ""
    """What another process finds once the turn waits for the user here: nothing to answer, or all of it.

    It is either where a task beside the one that asks has ended: that may have been later.
    """


class Model:
    """Checkpoints of all threads, and which of ours stands for which of the stock saver's."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str], Record] = {}
        self.stock_ids: dict[tuple[str, str], str] = {}
        self.ended: dict[str, int] = {}
        self.known: defaultdict[str, Known] = defaultdict(Known)

    def view(self, thread: str, stock_id: str) -> View:
        """Return how a checkpoint looks now."""
        record = self.records.get((thread, stock_id))
        if record is None:
            return View()
        return record.whole if self.held(record) else record.stored

    def held(self, record: Record) -> bool:
        """Return whether a checkpoint is in RAM."""
        return not record.closing and record.ended == self.ended.get(record.put.thread, 0)

    def edit(self, thread: str, stock_id: str, *, failed: bool) -> Start:
        """Return how an update sees a checkpoint. Where nothing has failed, the user has read what was said."""
        record = self.records.get((thread, stock_id))
        if record is None or not self.held(record):
            stored = record is not None and not record.foreign
            self.known[thread].front = self.view(thread, stock_id).messages(record.put.messages) if stored else ()
        if record is not None and self.held(record) and not record.foreign and not failed:
            self.known[thread].read_by_user(record.whole.messages(record.put.messages))
        if record is not None and record.foreign:  # what an update writes here hides what had happened to the task
            self.records[thread, stock_id] = replace(record, adopted=True)
        return Start(stock_id, self.view(thread, stock_id))

    def start_from(
        self,
        thread: str,
        stock_id: str,
        given: Sequence[BaseMessage] | None = None,
        *,
        newest: bool = False,
    ) -> Start:
        """Return how a run sees the checkpoint that it goes on from, with the messages that it was `given`, if anything."""
        view, record, known = self.view(thread, stock_id), self.records.get((thread, stock_id)), self.known[thread]
        messages = view.messages(record.put.messages) if record else []
        held = record is not None and self.held(record)
        if known.came is None:
            known.came = {}
            known.note(messages if held else ())  # a copy of an open turn: whose its messages are nobody knows
        known.read = {message.id for message in messages}
        known.unfinished = record is not None and not record.closing and not record.waits and not record.pause
        known.input_version = record.put.input_version if record else None
        if record is not None and record.foreign:
            known.note([*messages, *record.put.given])
        elif record is not None and not held:
            known.front = messages
            known.stored |= known.read
        if record is not None and not held and not record.closing and (record.foreign or record.pause == "whole"):
            self._adopt(record)
        if record is None or not (held or record.foreign):
            return Start(stock_id, view)
        dead = dead_rounds(messages) if newest and held else []
        if given is not None:
            results = {each.tool_call_id for each in given if isinstance(each, ToolMessage)}
            again = {each.id for each in given}  # a client that sends all of a conversation sends these, too
            dead = [each for each in lone_rounds(messages, results) if each.id not in again]
        stays = {m.id for m in dead if record.closing or record.waits or was_read(m, known, messages)}
        left = tuple((m, spoken(m) if m.id in stays and m.type == "ai" and m.text else None) for m in dead)
        # What RAM holds of a version is shown until the next; of another saver's it holds nothing.
        return Start(stock_id, view, left, record.put.version if held or not record.closing else None)

    def start(self, thread: str, head: StateSnapshot, given: Sequence[BaseMessage] | None, *, anew: bool) -> Start:
        """Return how a run that goes on from the newest checkpoint sees it."""
        stock_id = str(head.config["configurable"].get("checkpoint_id", ""))
        record = self.records.get((thread, stock_id))
        if anew and record is not None and self.held(record) and not any(task.error for task in head.tasks):
            self.known[thread].read_by_user(record.whole.messages(record.put.messages))
        return self.start_from(thread, stock_id, given, newest=True)

    def add(self, put: Put, view: View, *, closing: bool, waits: bool = False, once: bool = False) -> View:
        """Note a checkpoint that was made, seen as `view`; return how what follows it is seen.

        `waits`: its run has ended in a call. `once`: it was made by a run that saves at its end only.
        """
        thread, shown, known = put.thread, view.messages(put.messages), self.known[put.thread]
        given, before = None, self.records.get((thread, put.parent))
        if put.source == "input":
            known.note(view.messages(put.given))
            given = project_input(view.messages(put.given))
        elif put.source == "update":
            there = {m.id for m in before.put.messages} if before and self.held(before) else set()
            known.note([message for message in shown if message.id not in there])
        elif once and not (known.unfinished and put.input_version == known.input_version):
            known.note(came_first(shown, known))
        turn: Turn = "over" if closing or waits else "left" if put.source == "input" else "open"
        if turn == "left" and before and before.foreign and not self.held(before):
            turn = "over"
        after = view.projected(put, project(shown, turn, known), given)
        ended = self.ended.get(thread, 0)
        alone = bool(put.given and before and before.waits and all(message.type == "tool" for message in put.given))
        whole = after if closing else view
        self.records[thread, put.id] = Record(put, ended, closing, whole, after, waits=waits, alone=alone)
        if waits:
            known.read_by_user(shown)
        if closing:
            self.ended[thread] = ended + 1
            self.known[thread] = Known()
        elif put.source == "loop":
            known.said |= {message.id for message in said_last(shown)}
        return after if closing else view

    def foreign_start(self, thread: str, head: StateSnapshot) -> Start:
        """Return how a run of LangGraph's saver on our rows sees the newest checkpoint, of a turn that is over or waits."""
        stock_id = str(head.config["configurable"].get("checkpoint_id", ""))
        record = self.records.get((thread, stock_id))
        if record is not None and record.waits and self.held(record):  # what RAM has is overtaken
            self.ended[thread] = self.ended.get(thread, 0) + 1
            self.known[thread] = Known()
        return Start(stock_id, self.view(thread, stock_id))

    def add_foreign(self, put: Put, view: View, *, closing: bool) -> None:
        """Note a checkpoint that LangGraph's saver made on our rows."""
        ended = self.ended.get(put.thread, 0)
        self.records[put.thread, put.id] = Record(put, -1, closing, view, view, foreign=True)
        if closing:
            self.ended[put.thread] = ended + 1
            self.known[put.thread] = Known()

    def _adopt(self, record: Record) -> None:
        """Note that a run goes on from a checkpoint that lacks nothing: it is in RAM now, as it is stored."""
        put = record.put
        ended, known = self.ended.get(put.thread, 0), self.known[put.thread]
        self.records[put.thread, put.id] = replace(record, ended=ended, whole=record.stored, adopted=True)
        if put.source == "loop":
            known.said |= {message.id for message in said_last(record.stored.messages(put.messages))}

    def pause(self, thread: str, stock_id: str, *, inside: bool, alone: bool) -> None:
        """Note that the turn waits for the user at a checkpoint.

        `inside`: a subgraph asks; `alone`: no other task of the step has ended.
        """
        record = self.records[thread, stock_id]
        put = record.put
        if record.foreign:
            self.records[thread, stock_id] = replace(record, pause="either")
        if put.source == "input" or record.foreign or not self.held(record):
            return
        shown = record.whole.messages(put.messages)
        self.known[thread].read_by_user(shown)
        projection = project(shown, "paused", self.known[thread])
        pause: Pause = "whole" if alone else "either"
        if inside or not self._lacks_nothing(put, record.whole):
            pause = "stub"
        stored = record.stored if record.pause else record.whole.projected(put, projection)
        self.records[thread, stock_id] = replace(record, stored=stored, pause=pause)

    def _lacks_nothing(self, put: Put, view: View) -> bool:
        """Return whether a run could go on elsewhere from what is stored of a checkpoint: all that was said has its answer."""
        shown = view.messages(put.messages)
        rests = not shown or is_answer(shown[-1])
        private = put.private and put.private != view.lost
        return rests and project(shown, "paused", self.known[put.thread]).whole and not private and not put.packets

    def pair(self, thread: str, stock_id: str, our_id: str) -> None:
        """Note that a checkpoint of ours stands for one of theirs."""
        self.stock_ids[thread, our_id] = stock_id

    def forget(self, thread: str) -> None:
        """Drop a thread."""
        for table in (self.records, self.stock_ids):
            for key in [key for key in table if key[0] == thread]:
                del table[key]
        self.ended.pop(thread, None)
        self.known.pop(thread, None)

    def last_end(self, thread: str) -> str:
        """Return the checkpoint that ended the last turn."""
        ends = [record.put.id for (owner, _), record in self.records.items() if owner == thread and record.closing]
        return max(ends, default="")

    def copy(self, source: str, target: str) -> None:
        """Make `target` what `source` is."""
        self.forget(target)
        for (thread, key), record in list(self.records.items()):
            if thread == source:
                self.records[target, key] = replace(record, put=replace(record.put, thread=target))
        ids = {(target, key): value for (thread, key), value in self.stock_ids.items() if thread == source}
        self.stock_ids.update(ids)
        self.ended[target] = self.ended.get(source, 0)
        known = self.known[source]
        self.known[target] = Known(said=set(known.said), told=set(known.told))

    def end_all(self) -> None:
        """Note that RAM is empty."""
        self.known.clear()
        for thread in {thread for thread, _ in self.records}:
            self.ended[thread] = self.ended.get(thread, 0) + 1


def shown_id(message: BaseMessage) -> str:
    """Return a message's id. What several tools have answered has that of the last: which one may differ after a retry."""
    return "" if message.text.count(TOOL_ANSWERED) > 1 else str(message.id)


def shown_values(values: dict[str, Any], view: View | None = None, *, beside: bool = False) -> dict[str, Any]:
    """Return the values of a state in a form to compare, those of the stock saver as `view` shows them.

    `beside`: they are of LangGraph's saver on the rows of ours, which has placeholders.
    """
    view = view or View()
    lent = LendingRedactor.TAGGED if beside else SECRET
    shown = {key: value for key, value in values.items() if key not in {"messages", "private", "__interrupt__"}}
    if values.get("private") and values["private"] != view.lost:
        shown["private"] = values["private"]
    if "messages" in values:
        messages = [
            (m.type, m.text.replace(lent, SECRET), shown_id(m), len(getattr(m, "tool_calls", [])))
            for m in view.messages(with_stored_ids(values["messages"]))
        ]
        # After a retry the results of parallel calls may come in another order.
        runs = [list(run) for _, run in groupby(messages, lambda message: message[0] == "tool")]
        shown["messages"] = [message for run in runs for message in (sorted(run) if run[0][0] == "tool" else run)]
    if "__interrupt__" in values:
        shown["__interrupt__"] = [question.value for question in values["__interrupt__"]]
    return shown


def shown_state(
    state: StateSnapshot,
    view: View | None = None,
    *,
    ended: str = "",
    told: bool = True,
    inside: View | None = None,
) -> dict[str, Any]:
    """Return a state in a form to compare, that of the stock saver as `view` shows it; `told`: with what is asked.

    `inside`: how its subgraphs were shown it, if otherwise.

    A subgraph that has asked before the turn `ended` is not asking any more; that is the id of a checkpoint.
    """
    here = state.config["configurable"]
    asking = not (state.interrupts and here.get("checkpoint_ns") and here.get("checkpoint_id", "") <= ended)
    return {
        "values": shown_values(state.values, view),
        "next": state.next if asking else (),
        "tasks": sorted(
            (
                task.name,
                repr(task.error) if told else re.sub(r"\W.*", "", str(task.error)),
                repr([question.value if told else REDACTED for question in task.interrupts]),
                repr(
                    shown_state(task.state, inside or view, ended=ended)
                    if isinstance(task.state, StateSnapshot)
                    else None
                ),
            )
            for task in state.tasks
            if asking
        ),
        "interrupts": [question.value if told else REDACTED for question in state.interrupts if asking],
        "source": (state.metadata or {}).get("source"),
        "step": (state.metadata or {}).get("step", 0),
    }

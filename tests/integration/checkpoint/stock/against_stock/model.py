"""What our saver must show, told by what LangGraph's own shows: the policy's rules as a projection.

Once a turn is over, its messages but the user's and the answer are gone, what remains is redacted, and a channel that
the policy doesn't name is empty. Until then everything is whole. A checkpoint of a turn that is over is there if it is
an input or an end; others may be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, takewhile
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.types import StateSnapshot

from against_stock.sides import Put

SECRET = "hunter2"
PLACEHOLDER = "[password]"


class WordRedactor:
    """Redacts one word, at no cost."""

    def redact(self, text: str) -> str:
        return text.replace(SECRET, PLACEHOLDER)


@dataclass(frozen=True)
class View:
    """How a checkpoint of the stock saver looks over ours."""

    dropped: frozenset[str] = frozenset()
    """Ids of messages that are gone."""
    sealed: frozenset[str] = frozenset()
    """Ids of messages that are redacted."""
    lost: Any = None
    """A value of the private channel that is gone."""
    folded: tuple[tuple[int, BaseMessage], ...] = ()
    """Messages of an input that are where its first step would write them, with their position there."""

    def messages(self, messages: Iterable[BaseMessage]) -> list[BaseMessage]:
        """Return those that are there."""
        shown = [message for message in messages if message.id not in self.dropped]
        there = {message.id for message in shown}
        for place, message in self.folded:
            if message.id not in there:
                shown.insert(place, message)
        return shown

    def text(self, message: BaseMessage) -> str:
        """Return the text of a message."""
        return WordRedactor().redact(message.text) if message.id in self.sealed else message.text

    def without(self, ids: Iterable[str]) -> View:
        """Return the view without these messages."""
        return replace(self, dropped=self.dropped.union(ids))

    def projected(self, put: Put, kept: Collection[str]) -> View:
        """Return the view once `put` is only in the durable tier, which has the messages `kept`."""
        shown = self.messages(put.messages)
        given = put.given if put.source == "input" else ()
        return View(
            self.dropped | {m.id for m in shown if m.id and m.id not in kept},
            frozenset(m.id for m in (*shown, *given) if m.id),
            put.private,
            (*self.folded, *enumerate(given, len(kept))),
        )


@dataclass(frozen=True)
class Start:
    """How a run sees the checkpoint that it goes on from."""

    stock_id: str
    view: View
    dead: frozenset[str] = frozenset()
    """Tool calls that a new message has left behind. They show until a node writes messages again."""
    version: Any = None
    """Of the channel of messages."""
    again: bool = False
    """Whether a step may be counted twice. A tool call that failed is discarded by a new message, and must not be by a
    retry: so that begins with a step that makes the call again."""
    dropping: bool = False
    """Whether a step may not be counted, because its tool call is discarded."""
    later: int = 0
    """How many steps later our checkpoint is."""

    @property
    def running(self) -> View:
        """What the nodes see."""
        return self.view.without(self.dead)


@dataclass(frozen=True)
class Record:
    """A checkpoint of the root graph."""

    put: Put
    ended: int
    """How many turns of the thread had ended before it: RAM holds those made since the last end."""
    closing: bool
    whole: View
    """While its turn is in RAM."""
    stored: View
    """Afterwards."""


def project(
    messages: Sequence[BaseMessage],
    *,
    closed: bool,
    stored: Sequence[BaseMessage] = (),
    unended: AbstractSet[str] = frozenset(),
) -> list[str]:
    """Return the ids of what outlives the turns of `messages`.

    `stored`: with what the run began. `unended`: what the model said in turns that did not end.
    """
    kept: list[str] = []
    same = True
    for place, message in enumerate(messages):
        following = messages[place + 1] if place + 1 < len(messages) else None
        last = (closed if following is None else isinstance(following, HumanMessage)) and message.id not in unended
        answer = isinstance(message, AIMessage) and not message.tool_calls and message.text.strip()
        same = same and place < len(stored) and (stored[place].id, stored[place].text) == (message.id, message.text)
        if message.id and (same or isinstance(message, HumanMessage) or (last and answer)):
            kept.append(message.id)
    return kept


def dangles(messages: Sequence[BaseMessage]) -> bool:
    """Return whether a tool call is the last thing said."""
    return bool(messages) and isinstance(messages[-1], AIMessage) and bool(messages[-1].tool_calls)


def dead_calls(messages: Sequence[BaseMessage]) -> frozenset[str]:
    """Return the ids of messages with a tool call after which the user went on to something else."""
    pairs = pairwise(messages)
    return frozenset(one.id for one, other in pairs if one.id and dangles([one]) and isinstance(other, HumanMessage))


class Model:
    """Checkpoints of all threads, and which of ours stands for which of the stock saver's."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str], Record] = {}
        self.stock_ids: dict[tuple[str, str], str] = {}
        self.later: dict[tuple[str, str], int] = {}
        self.extra: set[str] = set()
        self.ended: dict[str, int] = {}
        self.said: dict[str, set[str]] = {}
        """What the model said in turns that are open, or were given up."""
        self.stored: dict[str, list[BaseMessage]] = {}
        """With what open turns began."""

    def view(self, thread: str, stock_id: str) -> View:
        """Return how a checkpoint looks now."""
        record = self.records.get((thread, stock_id))
        if record is None:
            return View()
        return record.whole if self.held(record) else record.stored

    def held(self, record: Record) -> bool:
        """Return whether a checkpoint is in RAM."""
        return not record.closing and record.ended == self.ended.get(record.put.thread, 0)

    def edit(self, thread: str, stock_id: str) -> Start:
        """Return how an update sees a checkpoint. It doesn't recognise messages that it reads from the durable tier."""
        record = self.records.get((thread, stock_id))
        if record is None or not self.held(record):
            self.stored.pop(thread, None)
        return Start(stock_id, self.view(thread, stock_id))

    def start_from(self, thread: str, stock_id: str) -> Start:
        """Return how a run that goes on from a certain checkpoint sees it."""
        view, record = self.view(thread, stock_id), self.records.get((thread, stock_id))
        if record is not None and not self.held(record):
            self.stored[thread] = view.messages(record.put.messages)
        return Start(stock_id, view)

    def start(self, thread: str, head: StateSnapshot, *, anew: bool) -> Start:
        """Return how a run that goes on from the newest checkpoint sees it."""
        stock_id = str(head.config["configurable"].get("checkpoint_id", ""))
        record = self.records.get((thread, stock_id))
        if record is None or not self.held(record):
            return self.start_from(thread, stock_id)
        view, messages = record.whole, record.whole.messages(record.put.messages)
        failed = any(task.error for task in head.tasks) and not any(task.interrupts for task in head.tasks)
        dead, dangling = dead_calls(messages), failed and dangles(messages)
        if dangling and anew:
            dead |= {messages[-1].id or ""}
        return Start(stock_id, view, dead, record.put.version, again=dangling and not anew, dropping=dangling and anew)

    def add(self, put: Put, view: View, *, closing: bool) -> View:
        """Note a checkpoint that a run made, seen as `view`; return how what follows it is seen."""
        thread, shown = put.thread, view.messages(put.messages)
        said = self.said.setdefault(thread, set())
        unended = said - {message.id for message in shown[-1:] if closing}
        closed, stored = closing or put.source == "input", self.stored.get(thread, ())
        kept = project(shown, closed=closed, stored=stored, unended=unended)
        after = view.projected(put, kept)
        ended = self.ended.get(thread, 0)
        self.records[thread, put.id] = Record(put, ended, closing, after if closing else view, after)
        if closing:
            self.ended[thread] = ended + 1
            said.clear()
            self.stored.pop(thread, None)
        elif put.source == "loop":
            turn = takewhile(lambda message: not isinstance(message, HumanMessage), reversed(shown))
            said.update(message.id for message in turn if isinstance(message, AIMessage) and message.id)
        return after if closing else view

    def pair(self, thread: str, stock_id: str, our_id: str, later: int, *, extra: bool = False) -> None:
        """Note that a checkpoint of ours stands for one of theirs, and how many steps later it is.

        `extra`: that one has another of ours already; this one was made by a retry, beside it.
        """
        if extra:
            self.extra.add(our_id)
        self.stock_ids[thread, our_id] = stock_id
        self.later[thread, our_id] = later

    def forget(self, thread: str) -> None:
        """Drop a thread."""
        for table in (self.records, self.stock_ids, self.later):
            for key in [key for key in table if key[0] == thread]:
                del table[key]
        self.ended.pop(thread, None)
        self.said.pop(thread, None)
        self.stored.pop(thread, None)

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
        tables: tuple[dict[tuple[str, str], Any], ...] = (self.stock_ids, self.later)
        for table in tables:
            table.update({(target, key): value for (thread, key), value in table.items() if thread == source})
        self.ended[target] = self.ended.get(source, 0)
        self.said[target] = set(self.said.get(source, ()))

    def end_all(self) -> None:
        """Note that RAM is empty."""
        self.said.clear()
        self.stored.clear()
        for thread in {thread for thread, _ in self.records}:
            self.ended[thread] = self.ended.get(thread, 0) + 1


def shown_values(values: dict[str, Any], view: View | None = None) -> dict[str, Any]:
    """Return the values of a state in a form to compare, those of the stock saver as `view` shows them."""
    view = view or View()
    shown = {key: value for key, value in values.items() if key not in {"messages", "private", "__interrupt__"}}
    if values.get("private") and values["private"] != view.lost:
        shown["private"] = values["private"]
    if "messages" in values:
        messages = [
            (m.type, view.text(m), m.id, len(getattr(m, "tool_calls", []))) for m in view.messages(values["messages"])
        ]
        # After a retry the results of parallel calls may come in another order.
        runs = [list(run) for _, run in groupby(messages, lambda message: message[0] == "tool")]
        shown["messages"] = [message for run in runs for message in (sorted(run) if run[0][0] == "tool" else run)]
    if "__interrupt__" in values:
        shown["__interrupt__"] = [question.value for question in values["__interrupt__"]]
    return shown


def shown_state(state: StateSnapshot, view: View | None = None, *, ended: str = "", later: int = 0) -> dict[str, Any]:
    """Return a state in a form to compare, that of the stock saver as `view` shows it.

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
                repr(task.error),
                repr([question.value for question in task.interrupts]),
                repr(shown_state(task.state, view, ended=ended) if isinstance(task.state, StateSnapshot) else None),
            )
            for task in state.tasks
            if asking
        ),
        "interrupts": [question.value for question in state.interrupts if asking],
        "source": (state.metadata or {}).get("source"),
        "step": (state.metadata or {}).get("step", 0) + later,
    }

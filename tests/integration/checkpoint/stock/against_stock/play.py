"""Play a program on both sides, and compare after every operation."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid5

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, ToolMessage
from langgraph.types import Command, StateSnapshot

from against_stock.graphs import IDS, LONG, MAIL, is_inside
from against_stock.model import Dead, Model, Record, Start, shown_state, shown_values
from against_stock.programs import Op, Program
from against_stock.projection import SECRET, dangles, open_round, stored_id, with_stored_ids
from against_stock.sides import Outcome, Side, at
from discreet.errors import TransientStateLostError

LATE_WRITES = True
"""Whether threads are deleted while they run."""
UPDATES_AFTER_PRUNING = False
"""Whether the state of an open turn is updated once its thread was pruned: our saver has refused that."""
HANDED_ON = "rawwrite"
"""What a node wrote in the user's place. A subgraph that the policy names is given the whole state, and stores that as input."""
NEWEST = ("", "")
"""Stands for the newest checkpoints of the two sides."""
WORDS = re.compile(rb"(?:raw|say)\w+?(?:x(\d+)x\d+)?\.")
"""What nodes say, with the number of the operation."""


class Game:
    """One program on two sides."""

    def __init__(
        self,
        program: Program,
        stock: Callable[[], Any],
        ours: Callable[[], Any],
        runner: asyncio.Runner,
        *,
        rows: Callable[[], tuple[bytes, bytes]],
        forget: Callable[[str], None],
        beside: Callable[[], Any] | None = None,
        prefix: str = "",
    ) -> None:
        """`stock` and `ours` return savers over the same rows each time; `rows` what ours has stored, and what its
        own checkpoints refer to.

        `forget` drops of a thread of the stock saver what the subgraphs remember that no policy names. `beside` returns
        LangGraph's saver over the rows of ours.
        """
        self._program = program
        self._threads = [f"{prefix}thread{number}" for number in range(2)]
        self._stock = Side(program, stock, runner)
        self._ours = Side(program, ours, runner)
        self._fresh = Side(program, ours, runner)
        self._rows = rows
        self._forget = forget
        self._beside_ours = beside
        self._by_stock: set[int] = set()
        """Operations that LangGraph's saver played on the rows of ours: what these say is there as it is."""
        self._model = Model()
        self._answers: set[str] = set()
        self._only_here: defaultdict[str, set[str | None]] = defaultdict(set)
        """Messages given with durability "exit" to an open turn: they are stored with the next, or when it ends."""
        self._given: set[str | None] = set()
        """Ids of the messages that came with an input."""
        self._dead: dict[str, Dead] = {}
        """Tool calls that the subgraph a thread is in was not shown when it began."""
        self._pruned: set[tuple[str, str]] = set()
        """The newest checkpoints of threads when they were pruned."""
        self._branched: set[str] = set()
        """Threads with an open turn that went on from an older checkpoint: another process may see where they were."""

    def play(self) -> None:
        """Play every operation."""
        for number, op in enumerate(self._program.ops):
            getattr(self, f"_{op.kind}")(op, number, self._threads[op.thread])
            both = op.kind in {"copy", "restart"}
            for thread in self._threads if both else [self._threads[op.thread]]:
                self._compare(thread, op.face)
        self._compare_rows()

    # What is done

    def _say(self, op: Op, number: int, thread: str, place: tuple[str, str] = NEWEST) -> None:
        text = f"user{number}." + f" my password is {SECRET}" * op.secret
        message = HumanMessage(text, id=self._stock.script.message_id(text))
        self._run(op, number, thread, self._input(op, thread, message), place, anew=True)

    def _input(self, op: Op, thread: str, message: HumanMessage) -> list[Any]:
        """Return what each side is given; each gets an object of its own."""
        self._given.add(stored_id(message.id))
        if op.durability != "exit":
            self._only_here[thread].clear()
            self._branched.discard(thread)
        elif self._stock.state(thread, op.face).tasks:
            self._only_here[thread].add(stored_id(message.id))
        return [{"messages": [_formed(message, op.form)]} for _ in range(2)]

    def _resend(self, op: Op, number: int, thread: str) -> None:
        """Give the whole conversation as a client has it, and a new message."""
        if self._stock.state(thread, op.face).tasks:
            return self._say(op, number, thread)
        again = self._stock.state(thread, op.face).values.get("messages", [])
        text = f"user{number}." + f" my password is {SECRET}" * op.secret
        given = self._input(op, thread, HumanMessage(text, id=self._stock.script.message_id(text)))
        for side, value in zip((self._stock, self._ours), given, strict=True):
            before = side.state(thread, op.face).values.get("messages", [])
            value["messages"][:0] = [message.model_copy() for message in before]
        # The call that it ends in is given again.
        return self._run(op, number, thread, given, anew=not dangles(again))

    def _beside(self, op: Op, number: int, thread: str) -> None:
        """Play a turn with LangGraph's saver on the rows of ours, where nothing is open."""
        loose = any(stage.kind == "loose" for stage in self._program.stages)  # they would remember in these rows
        if self._beside_ours is None or loose or self._stock.state(thread, op.face).tasks:
            return
        text = f"user{number}." + f" my password is {SECRET}" * op.secret
        message = HumanMessage(text, id=self._stock.script.message_id(text))
        self._by_stock.add(number)
        fails = self._stock.failing(op, ())
        start = self._model.foreign_start(thread, self._stock.state(thread, op.face))
        given = [{"messages": [message.model_copy()]} for _ in range(2)]
        stock = self._stock.run(op, number, given[0], at(thread), fails)
        with self._ours.over(self._beside_ours()):
            ours = self._ours.run(op, number, given[1], at(thread), fails)
        self._settle(thread, stock, ours, start, op.face, foreign=True)

    def _late(self, op: Op, number: int, thread: str) -> None:
        """Delete the thread while it runs: what comes after that must leave nothing."""
        if not LATE_WRITES:
            return
        text = f"user{number}."
        for side in (self._stock, self._ours):
            message = HumanMessage(text, id=self._stock.script.message_id(text))
            side.run_and_delete(op, number, {"messages": [message]}, thread)
        self._delete(replace(op, face="async"), number, thread, sides=(self._stock,))
        assert not self._ours.history(thread, op.face)

    def _nudge(self, op: Op, number: int, thread: str) -> None:
        given: list[Any] = [{"log": [f"lognudge{number}."]} for _ in range(2)]
        self._run(op, number, thread, given, anew=True)

    def _go_on(self, op: Op, number: int, thread: str) -> None:
        self._run(op, number, thread, None)

    def _result(self, op: Op, number: int, thread: str) -> None:
        """Give the results of the calls in which the last run ended, or of the first of them, as a client's tools do."""
        head = self._stock.state(thread, op.face)
        results = self._results(f"result{number}.", head.values.get("messages", []))[: 1 + op.choice]
        if head.tasks or not results:
            return
        given = [{"messages": [result.model_copy() for result in results]} for _ in range(2)]
        if self._is_lost(thread, checkpoint_id(head)):
            self._refused(self._ours.run(op, number, given[1], at(thread)))
        else:
            self._run(op, number, thread, given)

    def _results(self, word: str, messages: Sequence[BaseMessage]) -> list[ToolMessage]:
        """Return results for the calls that were said last and have none."""
        called, *there = open_round(messages) or [None]
        calls = [call["id"] for call in getattr(called, "tool_calls", ())]
        missing = [call for call in calls if call not in {getattr(each, "tool_call_id", "") for each in there}]
        return [ToolMessage(f"raw{word}", tool_call_id=call, id=str(uuid5(IDS, word + call))) for call in missing]

    def _is_lost(self, thread: str, stock_id: str) -> bool:
        """Return whether a call in which a run ended is nowhere any more."""
        record = self._model.records.get((thread, stock_id))
        return record is not None and not record.foreign and not self._model.held(record)

    def _refused(self, refused: Outcome) -> None:
        assert isinstance(refused.error, TransientStateLostError), refused
        assert not refused.runs

    def _resume(self, op: Op, number: int, thread: str) -> None:
        head = self._stock.state(thread, op.face)
        if not checkpoint_id(head):
            return
        if not head.tasks:
            self._refused(self._ours.run(op, number, Command(resume=op.answer), at(thread)))
            self._model.start(thread, head, None, anew=False)
            return
        if not head.interrupts:
            op = replace(op, fails=-1)  # an answer before its question is asked for again if the step fails
        answers = []
        for side in (self._stock, self._ours):
            tasks = side.state(thread, op.face).tasks
            questions = [question.id for task in tasks for question in task.interrupts]
            # Which of parallel tasks still runs when another asks again is certain in asynchronous graphs only.
            skipped = op.choice % (len(questions) or 1) if op.face == "async" else 0
            answered = dict.fromkeys(questions[skipped:], op.answer)
            answers.append(answered if len(questions) > 1 else op.answer)
        # What a run that saves once says before it was asked comes too late.
        if isinstance(op.answer, str) and (head.interrupts or op.durability != "exit"):
            self._model.known[thread].texts.add(op.answer)
        self._run(op, number, thread, [Command(resume=answer) for answer in answers])

    def _update(self, op: Op, number: int, thread: str, place: tuple[str, str] = NEWEST) -> None:
        nodes = self._stock.nodes.names()
        node = nodes[op.choice % len(nodes)] if op.choice >= 0 else None
        word, last = f"update{number}.", self._stock.state(thread, op.face, place[0]).values.get("messages", [])[-1:]
        results = self._results(word, last)
        said = AIMessage(f"say{word}", id=str(uuid5(IDS, word)))
        values = {"messages": results or [said], "log": [f"log{word}"]}
        stock_id, _ = place if place != NEWEST else self._heads(thread, op.face)
        if results and self._is_lost(thread, stock_id):
            return self._refused(self._ours.update(op, number, values, at(thread, place[1]), node))
        record = self._model.records.get((thread, stock_id))
        if not UPDATES_AFTER_PRUNING and (thread, stock_id) in self._pruned and record and self._model.held(record):
            return None
        stock, ours = (
            side.update(op, number, values, at(thread, checkpoint), node)
            for side, checkpoint in zip((self._stock, self._ours), place, strict=True)
        )
        head = self._stock.state(thread, op.face, stock_id)
        failed = any(task.error for task in head.tasks)
        return self._settle(thread, stock, ours, self._model.edit(thread, stock_id, failed=failed), op.face)

    def _fork(self, op: Op, number: int, thread: str) -> None:
        stock = {checkpoint_id(state): state for state in self._stock.history(thread, op.face)}
        places = []
        for ours in self._ours.history(thread, op.face):
            theirs = stock.get(self._model.stock_ids[thread, checkpoint_id(ours)])
            if theirs and theirs.next == ours.next:
                places.append((checkpoint_id(theirs), checkpoint_id(ours)))
        if not places:
            return
        place = places[op.choice % len(places)]
        self._branched.add(thread)
        if op.answer == "update":
            self._update(op, number, thread, place)
        elif op.answer == "say":
            self._say(op, number, thread, place)
        else:
            self._run(op, number, thread, None, place)

    def _restart(self, op: Op, number: int, thread: str) -> None:
        """Go on as another process would, where nothing is lost by that."""
        heads = {each: self._stock.state(each, op.face) for each in self._threads}
        if all(not head.tasks or self._pause(each, head) == "whole" for each, head in heads.items()):
            self._ours.restart()
            self._model.end_all()
            for each in self._threads:
                self._forget(each)

    def _pause(self, thread: str, head: StateSnapshot) -> str:
        return self._model.records[thread, checkpoint_id(head)].pause

    def _copy(self, op: Op, number: int, thread: str) -> None:
        target = self._threads[1 - op.thread]
        for side in (self._stock, self._ours):
            side.call(op, "delete_thread", target)
            side.call(op, "copy_thread", thread, target)
        self._model.copy(thread, target)
        self._only_here[target] = set(self._only_here[thread])
        self._branched.discard(target)
        # Of an open turn that was copied nobody knows what the graph wrote in the user's place.
        if thread in self._branched or any(stage.kind in {"write", "hear"} for stage in self._program.stages):
            self._branched.add(target)

    def _delete(self, op: Op, number: int, thread: str, *, sides: Sequence[Side] = ()) -> None:
        for side in sides or (self._stock, self._ours):
            side.call(op, "delete_thread", thread)
        self._model.forget(thread)

    def _prune(self, op: Op, number: int, thread: str) -> None:
        for side in (self._stock, self._ours):
            side.call(op, "prune", [thread])
        self._pruned.add((thread, checkpoint_id(self._stock.state(thread, op.face))))

    def _run(
        self, op: Op, number: int, thread: str, given: Any, place: tuple[str, str] = NEWEST, *, anew: bool = False
    ) -> None:
        inputs = given or [None, None]
        head = self._stock.state(thread, op.face)
        fails = self._stock.failing(op, () if anew else head.next)
        messages = with_stored_ids(given[0].get("messages", ())) if given and isinstance(given[0], dict) else None
        if place == NEWEST:
            start = self._model.start(thread, head, messages, anew=anew)
        else:
            start = self._model.start_from(thread, place[0], messages)
        stock, ours = (
            side.run(op, number, value, at(thread, checkpoint), fails)
            for side, value, checkpoint in zip((self._stock, self._ours), inputs, place, strict=True)
        )
        if anew or not any(isinstance(task.state, StateSnapshot) and task.state.values for task in head.tasks):
            self._dead[thread] = start.dead
        self._settle(thread, stock, ours, start, op.face, once=op.durability == "exit")

    def _heads(self, thread: str, face: str) -> tuple[str, str]:
        return checkpoint_id(self._stock.state(thread, face)), checkpoint_id(self._ours.state(thread, face))

    # What must be the same

    def _settle(
        self,
        thread: str,
        stock: Outcome,
        ours: Outcome,
        start: Start,
        face: str,
        *,
        once: bool = False,
        foreign: bool = False,
    ) -> None:
        """Compare what an operation gave, and note its checkpoints."""
        assert (type(ours.error), str(ours.error)) == (type(stock.error), str(stock.error))
        assert ours.runs == stock.runs
        if isinstance(stock.value, dict) and "configurable" not in stock.value:
            assert shown_values(ours.value, beside=foreign) == shown_values(stock.value, start.running)
        view = start.view
        assert [(put.source, put.step) for put in ours.puts] == [(put.source, put.step) for put in stock.puts]
        for theirs, our in zip(stock.puts, ours.puts, strict=True):
            tasks = self._stock.state(thread, face, theirs.id).tasks
            ends = theirs.source != "input" and not tasks
            waits = ends and not foreign and dangles(view.giving_up(start.dead).messages(theirs.messages))
            closing = ends and not waits
            if theirs.version != start.version:
                view = view.giving_up(start.dead)
            if foreign:
                self._model.add_foreign(theirs, view, closing=closing)
            else:
                view = self._model.add(theirs, view, closing=closing, waits=waits, once=once)
            self._model.pair(thread, theirs.id, our.id)
            if not foreign:
                self._note_answers(thread, theirs.id)
            if closing:
                self._forget(thread)
        self._note_pause(thread, face)

    def _note_pause(self, thread: str, face: str) -> None:
        """Note what another process must find of a turn that waits for the user."""
        head = self._stock.state(thread, face)
        if not head.interrupts:
            return
        inside = any(map(is_inside, head.next))
        alone = all(task.result is None for task in head.tasks)
        self._model.pause(thread, checkpoint_id(head), inside=inside, alone=alone)
        self._note_answers(thread, checkpoint_id(head))

    def _note_answers(self, thread: str, stock_id: str) -> None:
        record = self._model.records[thread, stock_id]
        self._answers.update(message.text for message in record.stored.messages(record.put.messages))

    def _compare(self, thread: str, face: str) -> None:
        """Compare the state of a thread and its history, and what another process sees of one that is closed."""
        theirs = self._stock.state(thread, face)
        self._compare_state(thread, theirs, self._ours.state(thread, face))
        self._compare_history(thread, face)
        self._fresh.restart()
        fresh = self._fresh.state(thread, face)
        if theirs.tasks:
            self._compare_open(thread, theirs, fresh)
        else:
            self._branched.discard(thread)
            record = self._model.records.get((thread, checkpoint_id(theirs)))
            self._compare_state(thread, theirs, fresh, stored=record is not None and record.waits)

    def _compare_state(self, thread: str, theirs: StateSnapshot, ours: StateSnapshot, *, stored: bool = False) -> None:
        """Compare the newest state; `stored`: as another process sees it."""
        stock_id, our_id = checkpoint_id(theirs), checkpoint_id(ours)
        assert self._model.stock_ids.get((thread, our_id), "") == stock_id
        record = self._model.records.get((thread, stock_id))
        stored = stored or record is None or not self._model.held(record)
        view = self._model.view(thread, stock_id) if record is None or not stored else record.stored
        ended = self._model.last_end(thread)
        told = self._is_told(record) and not (stored and record and record.pause == "whole")
        inside = view.giving_up(self._dead.get(thread, ()))
        expected = shown_state(theirs, view, ended=ended, told=told, inside=inside)
        assert shown_state(ours, told=told) == expected

    def _is_told(self, record: Record | None) -> bool:
        """Return whether what a checkpoint asks is in RAM."""
        return not (record and record.pause == "whole" and (record.adopted or not self._model.held(record)))

    def _compare_open(self, thread: str, theirs: StateSnapshot, fresh: StateSnapshot) -> None:
        """Check what another process sees of an open turn: all that the user has said, and what can be answered there."""
        stock_id = checkpoint_id(theirs)
        pause = self._pause(thread, theirs)
        if self._model.records[thread, stock_id].foreign:
            if not self._model.records[thread, stock_id].adopted:
                self._compare_state(thread, theirs, fresh)
            return
        answerable = bool(theirs.interrupts and fresh.next) and "unfinished" not in (fresh.metadata or {})
        assert pause == "either" or answerable == (pause == "whole")
        if pause == "whole":
            self._compare_state(thread, theirs, fresh, stored=True)
        given = self._model.records[thread, stock_id].put.given
        messages = with_stored_ids(theirs.values.get("messages", []))
        said = [*self._model.view(thread, stock_id).messages(messages), *given]
        asked = list(dict.fromkeys(m.id for m in said if self._model.known[thread].is_users(m)))
        there = [m.id for m in with_stored_ids(fresh.values.get("messages", [])) if isinstance(m, HumanMessage)]
        if any(
            stage.kind == "clear" for stage in self._program.stages
        ):  # until its turn ends, a clearing is known here alone
            there = [user for user in there if user in asked]
        if thread not in self._branched:
            assert there == [user for user in asked if user in there]
            # What a node made of an answer is stored when the turn waits again, or ends.
            missing = set(asked).difference(there) & (set(asked) if pause else self._given)
            assert missing <= self._only_here[thread]

    def _compare_history(self, thread: str, face: str) -> None:
        stock = {checkpoint_id(state): state for state in self._stock.history(thread, face)}
        shown = []
        for ours in self._ours.history(thread, face):
            stock_id = self._model.stock_ids[thread, checkpoint_id(ours)]
            shown.append(stock_id)
            if stock_id not in stock:
                continue  # pruned there, and here only once its turn is over
            record = self._model.records[thread, stock_id]
            told, view = self._is_told(record), self._model.view(thread, stock_id)
            expected = shown_state(stock[stock_id], view, told=told)
            actual = shown_state(ours, told=told)
            if self._model.held(record) or record.closing or (record.foreign and not record.adopted):
                assert actual == expected
            else:
                assert actual["values"] == expected["values"]
        assert shown == sorted(shown, reverse=True)
        for stock_id in stock:
            record = self._model.records[thread, stock_id]
            stored = record.closing or record.foreign or (record.put.source == "input" and not record.alone)
            if self._model.held(record) or stored:
                assert stock_id in shown, f"{record.put.source} {record.put.step} is missing"

    def _compare_rows(self) -> None:
        """Look for what may not be stored, in all rows and in those of our checkpoints."""
        allowed = {match[0].decode() for text in self._answers for match in WORDS.finditer(text.encode())}
        everything, ours = self._rows()
        for rows, by_stock in ((everything, self._by_stock), (ours, set())):
            theirs = {str(number).encode() for number in by_stock} | ({None} if by_stock else set())
            said = {match[0].decode() for match in WORDS.finditer(rows) if match[1] not in theirs}
            if any(stage.kind == "memo" for stage in self._program.stages):
                said = {word for word in said if not word.startswith(HANDED_ON)}
            assert said <= allowed
            assert by_stock or not [word for word in (SECRET, MAIL, LONG) if word.encode() in rows]


def _formed(message: HumanMessage, form: str) -> Any:
    """Return a user's message as programs give it."""
    first, space, rest = message.text.partition(" ")
    if form == "blocks":
        texts = [text for text in (first, space + rest) if text]
        return HumanMessage([{"type": "text", "text": text} for text in texts], id=message.id)
    if form == "role":
        return ChatMessage(message.text, role="user", id=message.id)
    return {"role": "user", "content": message.text, "id": message.id} if form == "dict" else message.model_copy()


def checkpoint_id(state: StateSnapshot) -> str:
    """Return the id of a checkpoint; of a thread that is not there, an empty one."""
    return str(state.config["configurable"].get("checkpoint_id", ""))

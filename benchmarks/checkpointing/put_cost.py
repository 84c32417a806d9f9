"""What `put` and `put_writes` cost, by the turn and by the call, in a conversation held with both checkpointers by turns."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from checkpointing.conversation import Conversation
from checkpointing.database import SIDES, open_saver, open_sync_saver
from checkpointing.meter import Meter, Spent
from checkpointing.settling import leave_out_the_rest, progress
from comparing.database import Database, Footprint
from comparing.report import Group

TOOL_CHARS = 20_000
CHARS = 400
"""Length of every other message."""
CHUNK_TURNS = 5
"""Turns of one checkpointer before the other has as many, so that both see the same machine."""
WARM_UP_TURNS = 5
"""Turns with which each connection of a pool is met once. They are made, and not counted by the call."""
A_TURN = "put and put_writes a turn"


class Run(NamedTuple):
    """What one conversation took."""

    footprint: Footprint
    turns: list[Spent]

    def call_us(self, name: str, calls: str) -> float:
        """Return the microseconds of CPU that LangGraph's calls of one method took, a call."""
        turns = self.turns[WARM_UP_TURNS:]
        return 1e6 * sum(getattr(turn, name) for turn in turns) / sum(getattr(turn, calls) for turn in turns)


def measure(admin_dsn: str, *, turns: int, repetitions: int, tool_chars: int, blocking: bool) -> Group:
    """Hold the same conversation with both checkpointers; `blocking`: with the sync ones."""
    runs: dict[str, list[Run]] = {side: [] for side in SIDES}
    title = f"{turns} turns, each " + (
        f"with a tool result of {tool_chars // 1000} kB" if tool_chars else f"two messages of {CHARS} characters"
    )
    title += ", sync savers" if blocking else ""
    for number in range(repetitions):
        progress(f"{title}: {number + 1} of {repetitions}")
        run = _run_sync(admin_dsn, turns, tool_chars) if blocking else asyncio.run(_run(admin_dsn, turns, tool_chars))
        for side in SIDES:
            runs[side].append(run[side])
    group = Group(title)
    if tool_chars and not blocking:
        group.ratio("disk", "MB", *_each(runs, lambda run: run.footprint.disk / 1e6), at_most=1 / 100)
        group.ratio("WAL", "MB", *_each(runs, lambda run: run.footprint.wal / 1e6), at_most=1 / 100)
    for kind in ("wall", "cpu"):
        turns_ms = ([1e3 * getattr(turn, kind) for run in runs[side] for turn in run.turns] for side in SIDES)
        group.ratio(f"{A_TURN}, {kind}", "ms", *turns_ms)
    target = (1 / 2 if blocking else 1 / 3) if tool_chars else None
    for name, calls in (("put", "puts"), ("put_writes", "writes")):
        costs = _each(runs, lambda run: run.call_us(name, calls))  # noqa: B023  # called at once
        group.ratio(f"{name} a call, cpu", "us", *costs, at_most=target)
    return group


async def _run(admin_dsn: str, turns: int, tool_chars: int) -> dict[str, Run]:
    spent: dict[str, list[Spent]] = {side: [] for side in SIDES}
    with ExitStack() as stack:
        databases = {side: stack.enter_context(Database(admin_dsn)) for side in SIDES}
        async with (
            open_saver(SIDES[0], databases[SIDES[0]].dsn) as one,
            open_saver(SIDES[1], databases[SIDES[1]].dsn) as other,
        ):
            talks = [
                talker(saver, Conversation(seed=1, chars=CHARS, tool_chars=tool_chars), spent[side])
                for side, saver in zip(SIDES, (one, other), strict=True)
            ]
            leave_out_the_rest()
            for done in range(0, turns, CHUNK_TURNS):
                for side, talk in zip(SIDES, talks, strict=True):
                    with databases[side].writing(first=done == 0):
                        await talk(min(CHUNK_TURNS, turns - done))
        return {side: Run(databases[side].footprint(), spent[side]) for side in SIDES}


def _run_sync(admin_dsn: str, turns: int, tool_chars: int) -> dict[str, Run]:
    spent: dict[str, list[Spent]] = {side: [] for side in SIDES}
    with ExitStack() as stack:
        databases = {side: stack.enter_context(Database(admin_dsn)) for side in SIDES}
        talks = {}
        for side in SIDES:
            saver = stack.enter_context(open_sync_saver(side, databases[side].dsn))
            talks[side] = sync_talker(saver, Conversation(seed=1, chars=CHARS, tool_chars=tool_chars), spent[side])
        leave_out_the_rest()
        for done in range(0, turns, CHUNK_TURNS):
            for side in SIDES:
                with databases[side].writing(first=done == 0):
                    talks[side](min(CHUNK_TURNS, turns - done))
        return {side: Run(databases[side].footprint(), spent[side]) for side in SIDES}


def talker(saver: Any, talk: Conversation, spent: list[Spent]) -> Callable[[int], Awaitable[None]]:
    """Return what holds some turns of a conversation and appends to `spent` what each took."""
    meter = Meter(saver)
    graph = talk.compile(saver)
    executor = meter.executor()

    async def turns(count: int) -> None:
        asyncio.get_running_loop().set_default_executor(executor)
        for _ in range(count):
            with _one_turn(meter, spent):
                await graph.ainvoke(talk.say(), thread(), durability="sync")

    return turns


def sync_talker(saver: Any, talk: Conversation, spent: list[Spent]) -> Callable[[int], None]:
    """Do what `talker` does, blocking."""
    meter = Meter(saver)
    graph = talk.compile(saver)

    def turns(count: int) -> None:
        for _ in range(count):
            with _one_turn(meter, spent):
                graph.invoke(talk.say(), thread(), durability="sync")

    return turns


def median_ms(turns: Sequence[Spent], kind: str) -> float:
    """Return the median of the turns' milliseconds; `kind` is wall or cpu."""
    return 1e3 * statistics.median(getattr(turn, kind) for turn in turns)


def thread(number: int = 0) -> Any:
    """Return the config of a thread."""
    return {"configurable": {"thread_id": f"thread-{number}"}}


@contextmanager
def _one_turn(meter: Meter, spent: list[Spent]) -> Iterator[None]:
    before = meter.read()
    yield
    spent.append(meter.read().since(before))


def _each(runs: dict[str, list[Run]], value: Callable[[Run], float]) -> list[list[float]]:
    """Return `value` of every run, of the stock saver's first."""
    return [[value(run) for run in runs[side]] for side in SIDES]

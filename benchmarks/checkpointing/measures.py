"""The measurements. Each runs both checkpointers in turn, on new databases of one server."""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any, NamedTuple

from checkpointing.conversation import Conversation
from checkpointing.database import OURS, SIDES, STOCK, open_saver, open_sync_saver
from checkpointing.meter import Meter, Spent
from checkpointing.replay import Calls, record, replay
from comparing.database import Database, Footprint
from comparing.report import Group

TOOL_CHARS = 20_000
CHARS = 400
"""Length of every other message."""
CHUNK_TURNS = 25
WINDOW_CHUNK_TURNS = 5
"""A thread's turns are made in chunks, by turns with those of other threads, so that all see the same machine."""
YOUNG_TURNS = 10
"""Turns of a thread with which a long one is compared."""
LOADS = 100
"""Most of them with plans that the connections have kept, as those of a running service have."""
PUT = "put and put_writes a turn"


class Run(NamedTuple):
    """What one conversation took."""

    footprint: Footprint
    turns: list[Spent]

    def put_ms(self, kind: str) -> float:
        """Return the median of the turns' milliseconds in `put` and `put_writes`; `kind` is wall or cpu."""
        return _median_ms(self.turns, kind)


Runs = dict[str, list[Run]]


class _Thread(NamedTuple):
    """A conversation that goes on."""

    database: Database
    talk: Callable[[int], Any]
    spent: list[Spent]


async def tool_turns(admin_dsn: str, *, turns: int, repetitions: int) -> Group:
    """Measure conversations with a tool call each turn."""
    runs: Runs = {side: [] for side in SIDES}
    for number in range(repetitions):
        for side in SIDES:
            _progress(f"{turns} turns with a tool, {number + 1} of {repetitions}: {side}")
            with Database(admin_dsn) as database:
                runs[side].append(await _talk(side, database, turns))
    group = Group(f"{turns} turns, each with a tool result of {TOOL_CHARS // 1000} kB")
    group.ratio("disk", "MB", *_each(runs, lambda run: run.footprint.disk / 1e6), at_most=1 / 100)
    group.ratio("WAL", "MB", *_each(runs, lambda run: run.footprint.wal / 1e6), at_most=1 / 100)
    _add_put_time(group, runs)
    return group


def sync_tool_turns(admin_dsn: str, *, turns: int, repetitions: int) -> Group:
    """Measure the time of the same with the sync checkpointers."""
    runs: Runs = {side: [] for side in SIDES}
    for number in range(repetitions):
        for side in SIDES:
            _progress(f"{turns} turns with a tool, sync, {number + 1} of {repetitions}: {side}")
            with Database(admin_dsn) as database:
                runs[side].append(_talk_sync(side, database, turns))
    group = Group(f"The same with the sync savers, {turns} turns")
    _add_put_time(group, runs)
    return group


async def long_thread(admin_dsn: str, *, turns: int, window: int) -> Group:
    """Measure one conversation of many turns without tools.

    Its last `window` turns take turns with as many of a young thread, so that both see the same machine.
    """
    long: dict[str, _Thread] = {}
    young: dict[str, _Thread] = {}
    async with AsyncExitStack() as stack:
        for side in SIDES:
            long[side] = await stack.enter_async_context(_open_thread(admin_dsn, side))
            young[side] = await stack.enter_async_context(_open_thread(admin_dsn, side))
            await young[side].talk(YOUNG_TURNS)
        for done in range(0, turns - window, CHUNK_TURNS):
            _progress(f"a thread of {turns} turns: {done} done")
            for side in SIDES:
                with long[side].database.writing(first=done == 0):
                    await long[side].talk(min(CHUNK_TURNS, turns - window - done))
        for _ in range(0, window, WINDOW_CHUNK_TURNS):
            for side in SIDES:
                with long[side].database.writing(first=False):
                    await long[side].talk(WINDOW_CHUNK_TURNS)
                await young[side].talk(WINDOW_CHUNK_TURNS)
        footprints = [long[side].database.footprint() for side in SIDES]
        load = {side: await _load_us(side, long[side].database, messages=2 * turns) for side in SIDES}
    group = Group(f"A thread of {turns} turns, two messages of {CHARS} characters each")
    group.ratio("disk", "MB", *([footprint.disk / 1e6] for footprint in footprints), at_most=1 / 40)
    group.ratio("WAL", "MB", *([footprint.wal / 1e6] for footprint in footprints))
    for kind in ("wall", "cpu"):
        late, early = (
            [[_median_ms(threads[side].spent[-window:], kind)] for side in SIDES] for threads in (long, young)
        )
        group.ratio(f"{PUT}, {kind}, turns {YOUNG_TURNS}-{YOUNG_TURNS + window}", "ms", *early)
        group.ratio(f"{PUT}, {kind}, turns {turns - window}-{turns}", "ms", *late)
        growth = [[after[0] / before[0]] for before, after in zip(early, late, strict=True)]
        group.figure(f"{PUT}, {kind}, late/early", "times", *growth, at_most=1.25 if kind == "wall" else None)
    group.figure("load, a message", "us", [load[STOCK]], [load[OURS]], at_most=15)
    return group


async def clients(admin_dsn: str, *, count: int, turns: int, repetitions: int) -> Group:
    """Measure how many checkpoints a second many clients get through one pool, each on a thread of its own.

    First the checkpointers alone, with the calls of a recorded run, then with the graphs that make these calls: there the
    graphs' own work comes on top for both, and bounds the ratio.
    """
    calls = await record(Conversation(seed=1, chars=CHARS, tool_chars=TOOL_CHARS), turns)
    _leave_out_the_rest()
    alone: dict[str, list[float]] = {side: [] for side in SIDES}
    rates: dict[str, list[float]] = {side: [] for side in SIDES}
    for number in range(repetitions):
        for side in SIDES:
            _progress(f"{count} clients, {number + 1} of {repetitions}: {side}")
            with Database(admin_dsn) as database:
                async with open_saver(side, database.dsn) as saver:
                    alone[side].append(await _replay_rate(saver, count, calls))
            with Database(admin_dsn) as database:
                async with open_saver(side, database.dsn) as saver:
                    rates[side].append(await _rate(saver, count, turns))
    group = Group(f"{count} clients at once, {turns} turns each with a tool result of {TOOL_CHARS // 1000} kB")
    group.ratio("checkpoints", "a second", alone[STOCK], alone[OURS], at_least=8)
    group.ratio("checkpoints, with the graphs that make them", "a second", rates[STOCK], rates[OURS])
    return group


async def talk_alone(admin_dsn: str, *, turns: int, tool_chars: int) -> None:
    """Hold a conversation with our saver only, for a profiler."""
    with Database(admin_dsn) as database:
        async with open_saver(OURS, database.dsn) as saver:
            await _talker(saver, Conversation(seed=1, chars=CHARS, tool_chars=tool_chars), [])(turns)


async def _talk(side: str, database: Database, turns: int) -> Run:
    spent: list[Spent] = []
    async with open_saver(side, database.dsn) as saver:
        with database.writing():
            await _talker(saver, Conversation(seed=1, chars=CHARS, tool_chars=TOOL_CHARS), spent)(turns)
        return Run(database.footprint(), spent)


def _talk_sync(side: str, database: Database, turns: int) -> Run:
    spent: list[Spent] = []
    with open_sync_saver(side, database.dsn) as saver, database.writing():
        meter, talk = Meter(saver), Conversation(seed=1, chars=CHARS, tool_chars=TOOL_CHARS)
        graph = talk.compile(saver)
        for _ in range(turns):
            with _one_turn(meter, spent):
                graph.invoke(talk.say(), _thread(), durability="sync")
    return Run(database.footprint(), spent)


@asynccontextmanager
async def _open_thread(admin_dsn: str, side: str) -> AsyncIterator[_Thread]:
    spent: list[Spent] = []
    with Database(admin_dsn) as database:
        async with open_saver(side, database.dsn, connections=2) as saver:
            yield _Thread(database, _talker(saver, Conversation(seed=1, chars=CHARS), spent), spent)


def _talker(saver: Any, talk: Conversation, spent: list[Spent]) -> Callable[[int], Any]:
    """Return what holds some turns of a conversation and appends to `spent` what each took."""
    meter = Meter(saver)
    graph = talk.compile(saver)
    executor = meter.executor()

    async def turns(count: int) -> None:
        asyncio.get_running_loop().set_default_executor(executor)
        for _ in range(count):
            with _one_turn(meter, spent):
                await graph.ainvoke(talk.say(), _thread(), durability="sync")

    return turns


@contextmanager
def _one_turn(meter: Meter, spent: list[Spent]) -> Iterator[None]:
    before = meter.read()
    yield
    spent.append(meter.read().since(before))


async def _load_us(side: str, database: Database, *, messages: int) -> float:
    """Return the microseconds a message to read the newest checkpoint, with a saver that has seen nothing of it."""
    seconds: list[float] = []
    _leave_out_the_rest()
    async with open_saver(side, database.dsn) as saver:
        for _ in range(LOADS):
            started = time.perf_counter()
            found = await saver.aget_tuple(_thread())
            seconds.append(time.perf_counter() - started)
            if found is None or len(found.checkpoint["channel_values"]["messages"]) != messages:
                raise RuntimeError(f"{side} has not kept all {messages} messages.")
    return 1e6 * statistics.median(seconds) / messages


async def _replay_rate(saver: Any, count: int, calls: Calls) -> float:
    started = time.perf_counter()
    done = await asyncio.gather(*(replay(saver, calls, f"thread-{number}") for number in range(count)))
    return sum(done) / (time.perf_counter() - started)


async def _rate(saver: Any, count: int, turns: int) -> float:
    meter = Meter(saver)
    talks = [Conversation(seed=number, chars=CHARS, tool_chars=TOOL_CHARS) for number in range(count)]
    graphs = [talk.compile(saver) for talk in talks]

    async def client(number: int) -> None:
        for _ in range(turns):
            await graphs[number].ainvoke(talks[number].say(), _thread(number))

    started = time.perf_counter()
    await asyncio.gather(*map(client, range(count)))
    return meter.read().checkpoints / (time.perf_counter() - started)


def _median_ms(turns: Sequence[Spent], kind: str) -> float:
    return 1e3 * statistics.median(getattr(turn, kind) for turn in turns)


def _add_put_time(group: Group, runs: Runs) -> None:
    for kind in ("wall", "cpu"):
        group.ratio(f"{PUT}, {kind}", "ms", *_each(runs, lambda run: run.put_ms(kind)), at_most=1 / 2)  # noqa: B023  # called at once


def _each(runs: Runs, value: Callable[[Run], float]) -> list[list[float]]:
    """Return `value` of every run, of the stock saver's first."""
    return [[value(run) for run in runs[side]] for side in SIDES]


def _thread(number: int = 0) -> Any:
    return {"configurable": {"thread_id": f"thread-{number}"}}


def _leave_out_the_rest() -> None:
    """Keep the garbage collector from looking through what earlier measurements and imports have left."""
    gc.collect()
    gc.freeze()


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

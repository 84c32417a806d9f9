"""The measurements. Each runs both checkpointers in turn, on new databases of one server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from checkpointing.conversation import Conversation
from checkpointing.database import OURS, SIDES, STOCK, open_saver
from checkpointing.meter import Meter, Spent
from checkpointing.put_cost import A_TURN, CHARS, TOOL_CHARS, median_ms, talker, thread
from checkpointing.replay import Calls, record, replay
from checkpointing.settling import leave_out_the_rest, progress
from comparing.database import Database
from comparing.report import Group

CHUNK_TURNS = 25
WINDOW_CHUNK_TURNS = 5
"""A thread's turns are made in chunks, by turns with those of other threads, so that all see the same machine."""
YOUNG_TURNS = 10
"""Turns of a thread with which a long one is compared."""
LOADS = 300
"""Most of them with plans that the connections have kept, as those of a running service have."""


class _Thread(NamedTuple):
    """A conversation that goes on."""

    database: Database
    talk: Callable[[int], Any]
    spent: list[Spent]


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
            progress(f"a thread of {turns} turns: {done} done")
            for side in SIDES:
                with long[side].database.writing(first=done == 0):
                    await long[side].talk(min(CHUNK_TURNS, turns - window - done))
        for _ in range(0, window, WINDOW_CHUNK_TURNS):
            for side in SIDES:
                with long[side].database.writing(first=False):
                    await long[side].talk(WINDOW_CHUNK_TURNS)
                await young[side].talk(WINDOW_CHUNK_TURNS)
        footprints = [long[side].database.footprint() for side in SIDES]
        load = await _load_us({side: long[side].database for side in SIDES}, messages=2 * turns)
    group = Group(f"A thread of {turns} turns, two messages of {CHARS} characters each")
    group.ratio("disk", "MB", *([footprint.disk / 1e6] for footprint in footprints), at_most=1 / 40)
    group.ratio("WAL", "MB", *([footprint.wal / 1e6] for footprint in footprints))
    for kind in ("wall", "cpu"):
        late, early = (
            [[median_ms(threads[side].spent[-window:], kind)] for side in SIDES] for threads in (long, young)
        )
        group.ratio(f"{A_TURN}, {kind}, turns {YOUNG_TURNS}-{YOUNG_TURNS + window}", "ms", *early)
        group.ratio(f"{A_TURN}, {kind}, turns {turns - window}-{turns}", "ms", *late)
        growth = [[after[0] / before[0]] for before, after in zip(early, late, strict=True)]
        group.figure(f"{A_TURN}, {kind}, late/early", "times", *growth, at_most=1.25 if kind == "wall" else None)
    group.ratio("load, a message", "us", load[STOCK], load[OURS], at_most=1 / 2)
    return group


async def clients(admin_dsn: str, *, count: int, turns: int, repetitions: int) -> Group:
    """Measure how many checkpoints a second many clients get through one pool, each on a thread of its own.

    First the checkpointers alone, with the calls of a recorded run, then with the graphs that make these calls: there the
    graphs' own work comes on top for both, and bounds the ratio.
    """
    calls = await record(Conversation(seed=1, chars=CHARS, tool_chars=TOOL_CHARS), turns)
    leave_out_the_rest()
    alone: dict[str, list[float]] = {side: [] for side in SIDES}
    rates: dict[str, list[float]] = {side: [] for side in SIDES}
    for number in range(repetitions):
        for side in SIDES:
            progress(f"{count} clients, {number + 1} of {repetitions}: {side}")
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
            await talker(saver, Conversation(seed=1, chars=CHARS, tool_chars=tool_chars), [])(turns)


@asynccontextmanager
async def _open_thread(admin_dsn: str, side: str) -> AsyncIterator[_Thread]:
    spent: list[Spent] = []
    with Database(admin_dsn) as database:
        async with open_saver(side, database.dsn, connections=2) as saver:
            yield _Thread(database, talker(saver, Conversation(seed=1, chars=CHARS), spent), spent)


async def _load_us(databases: dict[str, Database], *, messages: int) -> dict[str, list[float]]:
    """Return the microseconds a message to read the newest checkpoint, by turns, with savers that have seen nothing of it."""
    found: dict[str, list[float]] = {side: [] for side in SIDES}
    async with AsyncExitStack() as stack:
        savers = {side: await stack.enter_async_context(open_saver(side, databases[side].dsn)) for side in SIDES}
        leave_out_the_rest()
        for _ in range(LOADS):
            for side in SIDES:
                started = time.perf_counter()
                read = await savers[side].aget_tuple(thread())
                found[side].append(1e6 * (time.perf_counter() - started) / messages)
                if read is None or len(read.checkpoint["channel_values"]["messages"]) != messages:
                    raise RuntimeError(f"{side} has not kept all {messages} messages.")
    return found


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
            await graphs[number].ainvoke(talks[number].say(), thread(number))

    started = time.perf_counter()
    await asyncio.gather(*map(client, range(count)))
    return meter.read().puts / (time.perf_counter() - started)

"""Plant threads in PostgreSQL: many at once, in several processes."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from multiprocessing import get_context
from typing import Any

import psycopg
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.postgres.shallow import ShallowPostgresSaver
from psycopg.rows import dict_row

from testkit.planting.manifest import Entry
from testkit.planting.registry import SCENARIOS
from testkit.planting.savers import serializer
from testkit.planting.threads import plant_thread

AT_ONCE = 4
"""Threads of one process at a time; each has a connection of its own, as a saver does one thing at a time."""

SYNCHRONOUS = 16
"""Every thread of so many goes through the synchronous saver."""

FAST = "SET synchronous_commit TO off"
"""A crash may cost what was planted last, and then it is planted again."""

SERIALIZERS = ("default", "pickling", "encrypting")


@asynccontextmanager
async def opened_saver(dsn: str, kind: str = "postgres") -> AsyncIterator[AsyncPostgresSaver]:
    """Open the stock saver that a thread of the manifest needs, with tables made if there are none."""
    async with AsyncPostgresSaver.from_conn_string(dsn, serde=serializer(kind)) as saver:
        await saver.setup()
        yield saver


async def plant_threads(dsn: str, numbers: Sequence[int], *, seed: int) -> list[Entry]:
    """Plant the threads of these numbers in this process."""
    left = iter(numbers)
    async with asyncio.TaskGroup() as group:
        workers = [group.create_task(_work(dsn, left, seed)) for _ in range(AT_ONCE)]
    return [entry for worker in workers for entry in worker.result()]


async def _work(dsn: str, left: Iterator[int], seed: int) -> list[Entry]:
    entries: list[Entry] = []
    # As LangGraph's `from_conn_string` opens it.
    given: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with await psycopg.AsyncConnection.connect(dsn, **given) as connection:
        with psycopg.connect(dsn, **given) as plain:
            await connection.execute(FAST)
            plain.execute(FAST)
            savers: dict[str, BaseCheckpointSaver[Any]] = {
                kind: AsyncPostgresSaver(connection, serde=serializer(kind)) for kind in SERIALIZERS
            }
            for number in left:
                saver: Callable[[str], BaseCheckpointSaver[Any]] = savers.__getitem__
                if number % SYNCHRONOUS == 0:
                    saver = partial(_synchronous, plain)
                entries += await plant_thread(number, saver, seed=seed)
    return entries


def _synchronous(connection: psycopg.Connection[dict[str, Any]], kind: str) -> PostgresSaver:
    return PostgresSaver(connection, serde=serializer(kind))


def _plant_part(dsn: str, numbers: Sequence[int], seed: int) -> list[Entry]:
    return asyncio.run(plant_threads(dsn, numbers, seed=seed))


def plant_in_processes(dsn: str, threads: int, *, seed: int, processes: int) -> list[Entry]:
    """Plant threads 0 to `threads` - 1. The tables must be there."""
    parts = [range(part, threads, processes) for part in range(processes)]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        return [entry for part in pool.map(partial(_plant_part, dsn, seed=seed), parts) for entry in part]


@contextmanager
def opened_shallow_saver(dsn: str, kind: str = "shallow") -> Iterator[ShallowPostgresSaver]:
    """Open the saver that keeps the latest checkpoint only; its tables are named like the others', so it needs a database."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # people have these tables all the same
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=0, row_factory=dict_row) as connection:
            saver = ShallowPostgresSaver(connection, serde=serializer(kind))
            saver.setup()
            yield saver


async def plant_shallow(dsn: str, numbers: Sequence[int], *, seed: int) -> list[Entry]:
    """Plant threads in a database of the shallow saver; it can't do channels that keep changes only."""
    names = [name for name, each in SCENARIOS.items() if each.serializer is None and name != "deltas"]
    entries: list[Entry] = []
    with opened_shallow_saver(dsn) as saver:
        for number in numbers:
            name = names[number % len(names)]
            entries += await plant_thread(number, lambda _: saver, seed=seed, graph_name=name, place="shallow")
    return entries

"""The savers of both sides, over the same kind of rows: in memory, or in PostgreSQL."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

import psycopg
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg_pool import AsyncConnectionPool

from against_stock.play import Game
from against_stock.programs import Program
from against_stock.projection import TOLD_TOOL, LendingRedactor
from discreet.checkpoint import KEEP, CheckpointPolicy, RedactingSaver
from discreet.checkpoint.channels import mark_of
from discreet.checkpoint.postgres import CONNECTION

Pool = AsyncConnectionPool[Any]

POLICY = CheckpointPolicy(
    channels={"log": KEEP, "mark": KEEP, "rounds": KEEP, "memory": KEEP},
    subgraphs=[f"memo{number}" for number in range(4)],
    direct_tools=[TOLD_TOOL],
    redactor=LendingRedactor(),
)


class CopyingSaver(InMemorySaver):
    """LangGraph's saver in memory, and what it lacks: it copies and prunes threads as its PostgreSQL savers do."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.storage[target_thread_id].update(copy.deepcopy(self.storage[source_thread_id]))
        for table in (self.writes, self.blobs):
            found = {key: value for key, value in table.items() if key[0] == source_thread_id}
            table.update({(target_thread_id, *key[1:]): copy.copy(value) for key, value in found.items()})

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        for thread_id in thread_ids:
            for ns, checkpoints in self.storage[thread_id].items():
                for old in sorted(checkpoints)[:-1]:
                    del checkpoints[old]
                    self.writes.pop((thread_id, ns, old), None)

    def forget_loose(self, thread_id: str) -> None:
        """Drop what subgraphs remember that the policy doesn't name."""
        for ns in [ns for ns in self.storage[thread_id] if ns.startswith("loose")]:
            del self.storage[thread_id][ns]

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.copy_thread(source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.prune(thread_ids, strategy=strategy)


def play_in_memory(program: Program) -> None:
    """Play over savers in memory."""
    theirs, inner = CopyingSaver(), InMemorySaver()
    with asyncio.Runner() as runner:
        Game(
            program,
            lambda: theirs,
            lambda: RedactingSaver(inner, policy=POLICY),
            runner,
            rows=lambda: (_rows(inner), _own_rows(inner)),
            beside=lambda: inner,
            forget=theirs.forget_loose,
        ).play()


@contextmanager
def open_postgres(dsn: str) -> Iterator[Callable[[Program], None]]:
    """Yield what plays programs over PostgreSQL: each on threads of its own, with the asynchronous face."""
    numbers = count()
    with asyncio.Runner() as runner, psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA stock")
        theirs, ours = runner.run(_open_pool(dsn, "stock")), runner.run(_open_pool(dsn, "public"))
        runner.run(_set_up(theirs, ours))

        def play(program: Program) -> None:
            connection.execute("TRUNCATE checkpoints, checkpoint_writes, checkpoint_blobs, checkpoint_messages")
            ops = tuple(replace(op, face="async") for op in program.ops if op.kind != "copy")  # theirs can't
            Game(
                replace(program, ops=ops),
                lambda: AsyncPostgresSaver(theirs),
                lambda: RedactingSaver.from_pool(ours, POLICY),
                runner,
                rows=lambda: (_table_rows(connection), b""),
                forget=lambda thread: _forget_loose(connection, thread),
                prefix=f"{next(numbers)}-",
            ).play()

        try:
            yield play
        finally:
            runner.run(theirs.close())
            runner.run(ours.close())


def _forget_loose(connection: psycopg.Connection[Any], thread_id: str) -> None:
    query = "DELETE FROM stock.checkpoints WHERE thread_id = %s AND checkpoint_ns LIKE 'loose%%'"
    connection.execute(query, (thread_id,))


async def _open_pool(dsn: str, schema: str) -> Pool:
    kwargs = {**CONNECTION, "options": f"-c search_path={schema}"}
    pool: Pool = AsyncConnectionPool(dsn, min_size=1, max_size=4, kwargs=kwargs, open=False)
    await pool.open(wait=True)
    return pool


async def _set_up(theirs: Pool, ours: Pool) -> None:
    await AsyncPostgresSaver(theirs).setup()
    await RedactingSaver.from_pool(ours, POLICY).setup()


def _rows(saver: InMemorySaver) -> bytes:
    found: list[Any] = list(saver.blobs.values())
    for spaces in saver.storage.values():
        for checkpoints in spaces.values():
            found += [part for checkpoint, metadata, _ in checkpoints.values() for part in (checkpoint, metadata)]
    for writes in saver.writes.values():
        found += [value for _, _, value, _ in writes.values()]
    return b"\n".join(data for _, data in found)


def _own_rows(saver: InMemorySaver) -> bytes:
    """Return what the checkpoints refer to that ours has written, wherever another saver's are beside them."""
    found: list[Any] = []
    for thread_id, spaces in saver.storage.items():
        for ns, checkpoints in spaces.items():
            for stored, metadata, _ in checkpoints.values():
                checkpoint = saver.serde.loads_typed(stored)
                if mark_of(checkpoint):
                    versions = checkpoint["channel_versions"].items()
                    found += [stored, metadata, *(saver.blobs.get((thread_id, ns, *at), ("", b"")) for at in versions)]
    return b"\n".join(data for _, data in found)


def _table_rows(connection: psycopg.Connection[Any]) -> bytes:
    columns = connection.execute(
        "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
    ).fetchall()
    found: list[str] = []
    for table, column, kind in columns:
        shown = f"encode({column}, 'escape')" if kind == "bytea" else f"{column}::text"
        found += [row[0] or "" for row in connection.execute(f"SELECT {shown} FROM public.{table}")]
    return "\n".join(found).encode()

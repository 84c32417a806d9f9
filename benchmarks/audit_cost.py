"""What the audit trail costs: a turn logged, a memory saved and a whole turn, with and without it by turns. Medians in ms.

    python benchmarks/audit_cost.py [ROUNDS]

The server is the embedded one; the turn is that of benchmarks/turn.py, the model apart. Exit code 1 if a turn takes more
than 5 % longer with it.
"""

from __future__ import annotations

import asyncio
import base64
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from comparing.database import Database
from turning.ours import our_graph
from turning.talk import USER, ConstantTimeEmbeddings, questions

from discreet.access.user_keys import load_user_keys
from discreet.graph import drain
from discreet.settings import Settings, load_settings
from discreet.state.context import Context
from discreet.state.records import MemoryRecord, TurnRecord
from discreet.storage import Storage, open_storage
from discreet.storage.audit.verifying import verify
from discreet.storage.embedded import lease_server
from discreet.testing import StubEmbeddings

ROUNDS = 300
WARM_UP = 30
USERS = [f"user {n}" for n in range(20)]
TURNS = 100
MOST = 1.05
Times = defaultdict[tuple[str, bool], list[float]]


async def timed(times: list[float], work: Awaitable[object]) -> None:
    """Add how long `work` takes."""
    start = time.perf_counter()
    await work
    times.append(1_000 * (time.perf_counter() - start))


def in_turn(number: int) -> tuple[bool, bool]:
    """Return whether audited, both ways: now the one first, now the other."""
    return (False, True) if number % 2 else (True, False)


async def measure_writes(dsn: str, rounds: int, times: Times) -> None:
    """Log turns and save memories."""
    async with AsyncExitStack() as opened:
        storages: dict[bool, Storage] = {}
        for audited in (False, True):
            settings = Settings(audit=audited, reembed=False, large_user_memories=0)
            storage = open_storage(dsn, embeddings=StubEmbeddings(384), settings=settings)
            storages[audited] = await opened.enter_async_context(storage)
        for number in range(rounds + WARM_UP):
            for audited in in_turn(number):
                user, storage = f"{USERS[number % len(USERS)]} {audited}", storages[audited]
                now = datetime.now(UTC)
                turn = TurnRecord(
                    request_id=f"{number}",
                    user_id=user,
                    thread_id="t",
                    input_text="Which birds do I have?",
                    output_text="Two parrots.",
                    started_at=now,
                    ended_at=now,
                )
                await timed(times["log a turn", audited], storage.log.append(turn))
                fact = MemoryRecord(text=f"Likes thing{number}", type="event")
                await timed(times["save a memory", audited], storage.memories.save(user, [fact]))
        start = time.perf_counter()
        report = await verify(storages[True].works_pool, key=load_user_keys(load_settings()).audit_key)
        assert not report.found
        print(f"{report.entries:,} entries verified in {time.perf_counter() - start:.2f} s\n")


async def measure_turns(databases: dict[bool, Database], times: Times) -> None:
    """Hold the same conversation twice."""
    async with AsyncExitStack() as opened:
        graphs = {}
        for audited, database in databases.items():
            os.environ["DISCREET_AUDIT"] = str(audited)
            graphs[audited] = await opened.enter_async_context(our_graph(database.dsn, ConstantTimeEmbeddings()))
        for number, text in enumerate(questions(TURNS + WARM_UP)):
            for audited in in_turn(number):
                said = {"messages": [("user", text)]}
                config = {"configurable": {"thread_id": f"{number // 10}"}}
                turn = graphs[audited].ainvoke(said, config, context=Context(user_id=USER))
                await timed(times["a turn", audited], turn)
        await drain()


def main() -> None:
    """Print a line an operation."""
    os.environ.setdefault("DISCREET_IDENTITY_KEY", base64.b64encode(bytes(32)).decode())
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    times: Times = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, lease_server(Path(folder) / "server") as dsn:
        with Database(dsn) as database:
            asyncio.run(measure_writes(database.dsn, rounds, times))
        with Database(dsn) as without, Database(dsn) as with_it:
            asyncio.run(measure_turns({False: without, True: with_it}, times))
    print(f"{'median':16} {'without':>9} {'with':>9} {'added':>9} {'ratio':>7}")
    ratio = 0.0
    for name in ("log a turn", "save a memory", "a turn"):
        without_ms, with_ms = (median(times[name, audited][WARM_UP:]) for audited in (False, True))
        ratio = with_ms / without_ms
        print(f"{name:16} {without_ms:9.2f} {with_ms:9.2f} {with_ms - without_ms:9.2f} {ratio:7.3f}")
    sys.exit(ratio > MOST)


if __name__ == "__main__":
    main()

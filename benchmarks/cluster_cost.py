"""What each operation takes on the Citus cluster of DISCREET_TEST_CITUS_DSN, beside one server: medians in ms.

    DISCREET_TEST_CITUS_DSN=postgresql://postgres@127.0.0.1/postgres PYTHONPATH=tests/support python benchmarks/cluster_cost.py

The one server is the embedded one. Users have 500 memories of 512 dims.
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
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from discreet.ports import Round, Started, Work
from discreet.settings import Settings
from discreet.state.records import MemoryRecord, TurnRecord
from discreet.storage import Storage, open_storage
from discreet.storage.database.migrating.migrations import migrate
from discreet.storage.embedded import lease_server
from discreet.testing import StubEmbeddings

ROUNDS = 40
USERS = [f"user {n}" for n in range(4)]
NOW = datetime.now(UTC)


class Clock:
    """Times operations by name."""

    def __init__(self) -> None:
        self.times: defaultdict[str, list[float]] = defaultdict(list)

    async def timed(self, name: str, work: Awaitable[object]) -> object:
        """Return what `work` returns."""
        start = time.perf_counter()
        result = await work
        self.times[name].append(1_000 * (time.perf_counter() - start))
        return result


def facts(user: str, count: int, say: str) -> list[MemoryRecord]:
    """Return memories that share some words."""
    return [MemoryRecord(text=f"{say} {user} {n} colour{n % 17} animal{n % 23}", type="event") for n in range(count)]


async def once(clock: Clock, storage: Storage, user: str, number: int) -> None:
    """Do each operation once."""
    memories, short_term, store, namespace = storage.memories, storage.short_term, storage.store, ("notes", user)
    turn = TurnRecord(
        request_id=f"{number}",
        user_id=user,
        thread_id="t",
        input_text="a",
        output_text="b",
        started_at=NOW,
        ended_at=NOW,
    )
    spoken = Round(request_id=f"{number}", input_text="a", output_text="b", said_at=NOW, is_emergency=False)
    work = Work(kind="request", user_id=user, ref=f"{number}")
    await clock.timed("save one fact", memories.save(user, [MemoryRecord(text=f"Likes thing{number}")]))
    await clock.timed("save 20 events", memories.save(user, facts(user, 20, f"round {number}")))
    await clock.timed("search", memories.search(user, f"colour{number % 17} animal{number % 23}"))
    await clock.timed("log a turn", storage.log.append(turn))
    await clock.timed("add a round", short_term.append_round(user, "t", spoken))
    claimed = await clock.timed("claim", short_term.claim(work, lease=30))
    assert isinstance(claimed, Started)
    await clock.timed("finish", short_term.finish(work, claimed.token, "answer"))
    await clock.timed("store: put", store.aput(namespace, f"{number}", {"text": "two parrots"}))
    await clock.timed("store: get", store.aget(namespace, f"{number}"))
    await clock.timed("store: search", store.asearch(namespace, query="parrots"))


async def measured(dsn: str) -> dict[str, float]:
    """Return the median of each operation at the database of `dsn`."""
    clock = Clock()
    settings = Settings(reembed=False)
    async with open_storage(dsn, embeddings=StubEmbeddings(512), settings=settings) as storage:
        for user in USERS:
            await storage.memories.save(user, facts(user, 500, "fact"), dedup=False)
        for number in range(ROUNDS):
            await once(clock, storage, USERS[number % len(USERS)], number)
    return {name: median(times) for name, times in clock.times.items()}


def main() -> None:
    """Print a line an operation."""
    os.environ.setdefault("DISCREET_IDENTITY_KEY", base64.b64encode(bytes(32)).decode())
    dsn = os.environ.get("DISCREET_TEST_CITUS_DSN")
    if dsn is None:
        print("DISCREET_TEST_CITUS_DSN names no cluster (docs/citus.md): nothing measured.")
        return
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
    from testkit.citus import Cluster  # lies with the tests

    cluster = Cluster(dsn)
    with cluster.spread_template() as template, cluster.new_database(template=template) as name:
        spread = asyncio.run(measured(cluster.dsn_of(name)))
    with tempfile.TemporaryDirectory() as folder, lease_server(Path(folder) / "server") as one:
        asyncio.run(migrate(one))
        alone = asyncio.run(measured(one))
    print(f"{'median of ' + str(ROUNDS):20} {'one server':>12} {'cluster':>12}")
    for name, milliseconds in alone.items():
        print(f"{name:20} {milliseconds:12.1f} {spread[name]:12.1f}")


if __name__ == "__main__":
    main()

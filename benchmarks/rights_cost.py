"""What rights and isolation cost: each operation plain, with an audit trail, sealed, with row-level security, and with all three.

    python benchmarks/rights_cost.py [--rounds 200]

The server is embedded, each variant has a database of its own, and all of them do each operation in turn. Users have 500 memories of
384 dims, of some 120 characters. Medians in ms, and the ratio to plain. Then how fast the audit trail is verified, and everything
moved to a new key. At the end a whole turn, that of benchmarks/turn.py, the model apart, with and without the audit trail: exit code
1 if it takes more than 5 % longer with it.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from statistics import median
from urllib.parse import urlsplit

import psycopg
from comparing.database import Database
from langchain_core.runnables import RunnableConfig
from psycopg import sql
from pydantic import SecretStr
from turning.sides import TEMPLATE, open_side
from turning.talk import USER, ConstantTimeEmbeddings, questions

from discreet.access.user_keys import load_user_keys
from discreet.graph import drain
from discreet.ports import KeyProvider
from discreet.settings import Settings, load_settings
from discreet.state.context import Context
from discreet.state.records import MemoryRecord, Provenance, TurnRecord
from discreet.storage import Storage, open_storage
from discreet.storage.audit.verifying import verify
from discreet.storage.database.connecting.target import target_of
from discreet.storage.database.migrating.migrations import migrate
from discreet.storage.database.roles import RoleNames, apply_roles
from discreet.storage.embedded import lease_server
from discreet.storage.rekeying import Rekeying
from discreet.testing import InMemoryKeys, StubEmbeddings

USERS = [f"user {n}" for n in range(8)]
MEMORIES = 500
TURNS = 130
MOST = 1.05
"""Of a turn with the audit trail to one without."""
NOW = datetime.now(UTC)
FROM = Provenance(source="extraction", model="a-model", turns=["r1", "r2"])
Times = defaultdict[tuple[str, str], list[float]]
"""Milliseconds, by operation and variant."""
_SIZES = "SELECT pg_table_size('discreet.memory'), pg_indexes_size('discreet.memory')"


@dataclass(frozen=True)
class Variant:
    """What is switched on."""

    audit: bool = False
    sealed: bool = False
    apart: bool = False
    """Row-level security."""


VARIANTS = {
    "plain": Variant(),
    "audit": Variant(audit=True),
    "sealed": Variant(sealed=True),
    "apart": Variant(apart=True),
    "all": Variant(audit=True, sealed=True, apart=True),
}


def facts(user: str, count: int, say: str) -> list[MemoryRecord]:
    """Return memories that share some words."""
    told = "and said so on one of the evenings on which the two of them walked along the harbour"
    return [
        MemoryRecord(text=f"{say} {user} {n} colour{n % 17} animal{n % 23} {told}", type="event", provenance=FROM)
        for n in range(count)
    ]


def operations(storage: Storage, number: int) -> dict[str, Awaitable[object]]:
    """Return each operation, by name, to be awaited once."""
    user = USERS[number % len(USERS)]
    turn = TurnRecord(
        request_id=f"{number}",
        user_id=user,
        thread_id="t",
        input_text=f"Which animal was it? {number}",
        output_text="It was a parrot, and you said so on a Tuesday.",
        provenance=FROM,
        started_at=NOW,
        ended_at=NOW,
    )
    return {
        "search": storage.memories.search(user, f"colour{number % 17} animal{number % 23}"),
        "save a fact": storage.memories.save(user, facts(user, 1, f"round {number}"), dedup=False),
        "save 20": storage.memories.save(user, facts(user, 20, f"rounds {number}"), dedup=False),
        "latest 50": storage.memories.latest(user, limit=50),
        "log a turn": storage.log.append(turn),
        "read 50 turns": storage.log.read(user, limit=50),
        "store: put": storage.store.aput(("notes", user), f"{number}", {"text": "two parrots"}),
        "store: get": storage.store.aget(("notes", user), f"{number}"),
    }


@asynccontextmanager
async def filled(server: str, name: str, variant: Variant, keys: KeyProvider) -> AsyncIterator[Storage]:
    """Yield a storage over a database of its own, with what everybody has."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    owner = app = worker = urlsplit(server)._replace(path=f"/{name}").geturl()
    if variant.apart:
        app, worker = await make_roles(owner)
    settings = Settings(
        audit=variant.audit,
        reembed=False,
        max_memories_per_user=1_000_000,
        postgres_dsn=SecretStr(app),
        postgres_worker_dsn=SecretStr(worker),
        postgres_owner_dsn=SecretStr(owner),
    )
    given = keys if variant.sealed else None
    async with open_storage(embeddings=StubEmbeddings(384), keys=given, settings=settings, maintained=False) as storage:
        for user in USERS:
            await storage.memories.save(user, facts(user, MEMORIES, "fact"), dedup=False)
        yield storage


async def make_roles(owner: str) -> tuple[str, str]:
    """Return DSNs of the application and the worker of a database."""
    names, password = RoleNames(), "of-a-benchmark"
    await migrate(owner)
    await apply_roles(target_of(owner), names=names)
    with psycopg.connect(owner, autocommit=True) as connection:
        for role in (names.app, names.worker):
            connection.execute(
                sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(role), sql.Literal(password))
            )
    where = urlsplit(owner)
    host = where.netloc.rpartition("@")[2]
    app, worker = (where._replace(netloc=f"{role}:{password}@{host}").geturl() for role in (names.app, names.worker))
    return app, worker


async def timed(times: list[float], work: Awaitable[object]) -> None:
    """Add how long `work` takes."""
    start = time.perf_counter()
    await work
    times.append(1_000 * (time.perf_counter() - start))


async def measure(server: str, rounds: int) -> None:
    """Print a line an operation, then what verifying and moving everything takes."""
    keys = InMemoryKeys()
    times: Times = defaultdict(list)
    async with AsyncExitStack() as opened:
        storages = {
            name: await opened.enter_async_context(filled(server, f"v_{name}", variant, keys))
            for name, variant in VARIANTS.items()
        }
        order, drawn = list(VARIANTS), Random(1)
        for number in range(rounds):
            drawn.shuffle(order)
            work = {name: operations(storages[name], number) for name in order}
            for operation in work[order[0]]:
                for name in order:
                    await timed(times[operation, name], work[name][operation])
        show(times, list(VARIANTS))
        await verify_trail(storages["audit"])
        keys.rotate()
        await rekey("a rotation", storages["sealed"], keys)
        await rekey("sealing what is plain", storages["plain"], keys)


async def measure_turns(server: str) -> float:
    """Hold the same conversation with the audit trail and without, print a line, and return the ratio."""
    times: Times = defaultdict(list)
    names, drawn = ["plain", "audit"], Random(1)
    async with AsyncExitStack() as opened:
        graphs = {}
        for name in names:
            os.environ["DISCREET_AUDIT"] = str(VARIANTS[name].audit)
            dsn = opened.enter_context(Database(server)).dsn
            graphs[name] = await opened.enter_async_context(open_side(TEMPLATE, dsn, ConstantTimeEmbeddings()))
        order = list(names)
        for number, text in enumerate(questions(TURNS)):
            drawn.shuffle(order)
            config: RunnableConfig = {"configurable": {"thread_id": f"{number // 10}"}}
            for name in order:
                said = {"messages": [("user", text)]}
                turn = graphs[name].ainvoke(said, config, context=Context(user_id=USER))
                await timed(times["a turn", name], turn)
        await drain()
    show(times, names)
    return median(times["a turn", "audit"]) / median(times["a turn", "plain"])


def show(times: Times, names: list[str]) -> None:
    """Print medians, and ratios to the first of the names."""
    print(f"{'median, ms':16}" + "".join(f"{name:>16}" for name in names))
    for operation in dict.fromkeys(operation for operation, _ in times):
        medians = [median(times[operation, name]) for name in names]
        cells = "".join(f"{each:9.2f} {each / medians[0]:5.2f}x" for each in medians)
        print(f"{operation:16}{cells}")


async def verify_trail(storage: Storage) -> None:
    """Print how long that takes."""
    start = time.perf_counter()
    report = await verify(storage.works_pool, key=load_user_keys(load_settings()).audit_key)
    assert not report.found
    print(f"{report.entries:,} entries verified in {time.perf_counter() - start:.2f} s")


async def rekey(what: str, storage: Storage, keys: KeyProvider) -> None:
    """Print how many rows a second are moved, and what it does to the largest table."""
    before = await sizes(storage)
    start = time.perf_counter()
    came = await Rekeying(storage.works_pool, keys=keys).run(seal_plain=True)
    rows, seconds = sum(came.rows.values()), time.perf_counter() - start
    after = await sizes(storage)
    growth = ", ".join(
        f"{name} {old / 1e6:.0f} -> {new / 1e6:.0f} MB"
        for name, old, new in zip(("table", "indexes"), before, after, strict=True)
    )
    print(f"{what}: {rows:,} rows in {seconds:.1f} s, {rows / seconds:,.0f} a second; memory: {growth}")


async def sizes(storage: Storage) -> tuple[int, int]:
    """Return the bytes of the table of memories and of its indexes."""
    async with storage.pool.connection() as conn:
        row = await (await conn.execute(_SIZES)).fetchone()
    assert row is not None
    table, indexes = row.values()
    return table, indexes


def main() -> None:
    """Run it on a server of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    os.environ.setdefault("DISCREET_IDENTITY_KEY", base64.b64encode(bytes(32)).decode())
    with tempfile.TemporaryDirectory() as folder, lease_server(Path(folder) / "server") as server:
        asyncio.run(measure(server, rounds))
        ratio = asyncio.run(measure_turns(server))
    sys.exit(ratio > MOST)


if __name__ == "__main__":
    main()

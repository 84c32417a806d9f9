"""What rights and isolation cost: each operation plain, with an audit trail, sealed, with row-level security, and with all three.

    python benchmarks/rights_cost.py [--rounds 200]

The server is embedded, each variant has a database of its own, and all of them do each operation in turn. Users have 500 memories of
384 dims, of some 120 characters. Medians in ms, and the ratio to plain. At the end: how fast everything is moved to a new key.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import os
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
from psycopg import sql
from pydantic import SecretStr

from discreet.ports import KeyProvider
from discreet.settings import Settings
from discreet.state.records import MemoryRecord, Provenance, TurnRecord
from discreet.storage import Storage, open_storage
from discreet.storage.database.connecting.target import target_of
from discreet.storage.database.migrating.migrations import migrate
from discreet.storage.database.roles import RoleNames, apply_roles
from discreet.storage.embedded import lease_server
from discreet.storage.rekeying import Rekeying
from discreet.testing import InMemoryKeys, StubEmbeddings

USERS = [f"user {n}" for n in range(8)]
MEMORIES = 500
NOW = datetime.now(UTC)
FROM = Provenance(source="extraction", model="a-model", turns=["r1", "r2"])
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
        large_user_memories=0,
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


async def measure(server: str, rounds: int) -> None:
    """Print a line an operation, then what moving everything takes."""
    keys = InMemoryKeys()
    times: dict[str, defaultdict[str, list[float]]] = {name: defaultdict(list) for name in VARIANTS}
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
                    start = time.perf_counter()
                    await work[name][operation]
                    times[name][operation].append(1_000 * (time.perf_counter() - start))
        show(times, rounds)
        keys.rotate()
        await rekey("a rotation", storages["sealed"], keys)
        await rekey("sealing what is plain", storages["plain"], keys)


def show(times: dict[str, defaultdict[str, list[float]]], rounds: int) -> None:
    """Print medians, and ratios to plain."""
    print(f"{'median of ' + str(rounds):16}" + "".join(f"{name:>16}" for name in times))
    for operation, plain in times["plain"].items():
        base = median(plain)
        cells = [f"{median(each[operation]):9.2f} {median(each[operation]) / base:5.2f}x" for each in times.values()]
        print(f"{operation:16}" + "".join(f"{cell:>16}" for cell in cells))


async def rekey(what: str, storage: Storage, keys: KeyProvider) -> None:
    """Print how many rows a second are moved, and what it does to the largest table."""
    before = await sizes(storage)
    start = time.perf_counter()
    came = await Rekeying(storage.works_pool, keys=keys).run()
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


if __name__ == "__main__":
    main()

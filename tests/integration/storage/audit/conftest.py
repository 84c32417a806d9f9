"""A trail over a database without rows, and a clock that tests set."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from discreet.access.identity import Identities
from discreet.access.user_keys import UserKeys
from discreet.storage.audit.log import PostgresAuditLog
from discreet.storage.audit.marks import bind_database
from discreet.storage.audit.sealing import AuditSealer
from discreet.storage.audit.trimming import AuditTrimmer
from discreet.storage.audit.verifying import Report, verify
from discreet.storage.database.connecting.pool import Pool, make_pool


@dataclass
class Trail:
    """The trail with all that works on it."""

    pool: Pool
    now: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)
    keys: UserKeys = field(default_factory=lambda: UserKeys(Identities(bytes(range(32)))))

    def __post_init__(self) -> None:
        self.log = PostgresAuditLog(self.pool, keys=self.keys, clock=self.clock)
        self.sealer = AuditSealer(self.pool, key=self.keys.audit_key, heads=3, clock=self.clock)
        self.trimmer = AuditTrimmer(self.pool, key=self.keys.audit_key, audit=self.log)

    def clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    async def write(self, user: str, entries: int, action: str = "memory.write") -> None:
        for n in range(entries):
            await self.log.record(action, user_key=user, data="memory", counts={"memories": n, "at": 1})

    async def verify(self, **options) -> Report:
        return await verify(self.pool, key=self.keys.audit_key, now=self.now, page=4, **options)

    async def run(self, statement: str, *parameters: object) -> None:
        """Do what somebody with all rights in the database can, triggers or not."""
        async with self.pool.connection() as conn, conn.transaction():
            await conn.execute("SET LOCAL session_replication_role = replica")
            await conn.execute(statement, parameters)

    async def begin_anew(self) -> None:
        """Have a trail without entries again, as a database has that is in use for the first time."""
        for table in ("audit_entry", "audit_chain", "audit_seal", "audit_sealed_head", "audit_mark", "identity_key"):
            await self.run(f"DELETE FROM discreet.{table}")
        await bind_database(self.pool, self.keys)

    async def rows(self, statement: str, *parameters: object) -> list[dict]:
        async with self.pool.connection() as conn:
            return await (await conn.execute(statement, parameters)).fetchall()


@pytest.fixture
def owner(database: str) -> str:
    """Return the DSN of the owner of the tables."""
    return os.environ.get("DISCREET_POSTGRES_OWNER_DSN", database)


@pytest.fixture
async def trail(owner: str) -> AsyncIterator[Trail]:
    """Return a trail without entries, of a database that is in use, as the owner of its tables sees it."""
    async with make_pool(owner, max_size=4) as pool:
        trail = Trail(pool)
        await bind_database(pool, trail.keys)
        yield trail

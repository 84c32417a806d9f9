"""What has expired of the vault is deleted by maintenance, in batches, and found by an index."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import psycopg
import pytest

from discreet.storage import open_storage
from discreet.storage.database.connecting.pool import make_pool
from discreet.storage.database.expiry import BEGINNING, delete_expired
from discreet.storage.retention.tables import VAULT_TURNS
from discreet.storage.vault.sql import VALUES
from discreet.testing import StubEmbeddings

pytestmark = pytest.mark.parametrize("place", ["postgres"], indirect=True)

FILL = """
INSERT INTO discreet.vault_turn SELECT gen_random_uuid(), now() + n * interval '1 second' FROM generate_series(1, 20000) n;
INSERT INTO discreet.vault_value SELECT turn_key, gen_random_uuid(), 'x' FROM discreet.vault_turn
"""


async def purge_vault(pool, batch=100):
    return sum([gone async for gone in delete_expired(pool, VAULT_TURNS, until=datetime.now(UTC), batch=batch)])


def counts(dsn):
    with psycopg.connect(dsn) as connection:
        return [
            connection.execute(f"SELECT count(*) FROM discreet.{table}").fetchone()[0]
            for table in ("vault_turn", "vault_value")
        ]


async def test_turns_that_expired_are_deleted_with_their_values_and_no_others(place, kept):
    for number in range(7):
        await kept.vault.ahold(f"{number}", {"a": "ann", "b": "bob"})
    kept.advance(3601)
    await kept.vault.ahold("live", {"a": "ann"})
    async with make_pool(place.dsn, max_size=2) as pool:
        purged = await asyncio.gather(*(purge_vault(pool, batch=2) for _ in range(2)))
        assert sum(purged) + await purge_vault(pool) == 7
    assert counts(place.dsn) == [1, 1]
    assert await kept.vault.avalues("live") == {"a": "ann"}


@pytest.mark.slow
async def test_an_open_storage_deletes_them_by_itself(place, kept):
    await kept.vault.ahold("1", {"a": "ann"})
    kept.advance(3601)
    async with open_storage(place.dsn, embeddings=StubEmbeddings(dims=16)), asyncio.timeout(30):
        left = counts(place.dsn)
        while left != [0, 0]:
            await asyncio.sleep(0.05)
            left = counts(place.dsn)


@pytest.mark.slow
@pytest.mark.parametrize("statement", [VAULT_TURNS.select, VALUES])
async def test_indexes_are_used(place, kept, statement):
    with psycopg.connect(place.dsn, autocommit=True) as connection:
        connection.execute(FILL)
        connection.execute("VACUUM ANALYZE")
        given = {
            "batch": 100,
            "until": datetime.now(UTC),
            "after": BEGINNING,
            "turn_key": kept.vault._values.turn_key("1"),
        }
        [[plan]] = connection.execute("EXPLAIN (FORMAT JSON) " + statement, given).fetchall()
    assert "Seq Scan" not in json.dumps(plan)

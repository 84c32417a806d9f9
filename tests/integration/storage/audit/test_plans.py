"""What the statements on the trail read of 1,000 chains with 50 entries each."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from discreet.storage.audit import sealing, trimming, verifying

pytestmark = [
    pytest.mark.one_server("reads plans, which are the nodes'"),
    pytest.mark.own_database("plans follow the statistics that earlier tests left"),
]

FILL = (
    """
    INSERT INTO discreet.audit_chain (user_key, last_number, last_hash, first_number, hash_before, first_at, is_sealed)
    SELECT md5(n::text)::uuid, 50, ''::bytea, 1, ''::bytea, now() - n * interval '1 hour', n > 10 FROM generate_series(1, 1000) n
    """,
    """
    INSERT INTO discreet.audit_entry (user_key, number, at, actor_kind, action, success, data, counts, hash)
    SELECT c.user_key, n, now(), 'user', 'memory.write', true, 'memory', '{}', ''::bytea
    FROM discreet.audit_chain c, generate_series(1, 50) n
    """,
    """
    INSERT INTO discreet.audit_seal (seal_number, at, heads, previous_hash, hash)
    SELECT n, now() - n * interval '1 minute', 10, ''::bytea, ''::bytea FROM generate_series(1, 5000) n
    """,
    """
    INSERT INTO discreet.audit_sealed_head (user_key, seal_number, number, hash)
    SELECT md5((n * 10 %% 1000)::text || m)::uuid, n, m, ''::bytea FROM generate_series(1, 5000) n, generate_series(1, 10) m
    """,
    "ANALYZE discreet.audit_chain, discreet.audit_entry, discreet.audit_seal, discreet.audit_sealed_head",
)
ANN, NOW = UUID(int=7), datetime.now(UTC)

STATEMENTS = {
    "unsealed": (sealing._UNSEALED, {"first": ANN, "limit": 500}, "audit_chain_unsealed"),
    "last seal": (sealing._LAST, {}, "audit_seal_pkey"),
    "mark": (sealing._MARK, {"user_key": ANN, "last_number": 3}, "audit_chain_pkey"),
    "due": (trimming._DUE, {"before": NOW, "after": NOW, "after_key": ANN, "limit": 10}, "audit_chain_first"),
    "seals": (verifying._SEALS, {"first": 7, "limit": 20}, "audit_seal_pkey"),
    "sealed": (verifying._SEALS, {"first": 7, "limit": 20}, "audit_sealed_head_seal"),
    "entries": (
        verifying._ENTRIES.format(which="(e.user_key, e.number) > (%(after)s, %(number)s)"),
        {"after": ANN, "number": 3, "limit": 100},
        "audit_entry_pkey",
    ),
    "heads": (
        verifying._HEADS.format(which="c.user_key > %(after)s"),
        {"after": ANN, "limit": 100},
        "audit_chain_pkey",
    ),
    "last sealed": (verifying._LAST_SEALED, {"user_keys": [ANN]}, "audit_sealed_head_pkey"),
    "old": (
        verifying._OLD,
        {"user_keys": [ANN], "keys": [ANN], "numbers": [1], "before": NOW},
        "audit_entry_pkey",
    ),
    "some": (verifying._WHO_HAS_SOME, {"user_keys": [ANN]}, "audit_entry_pkey"),
    "hashes": (
        verifying._HASHES.format(table="audit_entry"),
        {"user_keys": [ANN], "keys": [ANN], "numbers": [1]},
        "audit_entry_pkey",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STATEMENTS)
async def test_statements_use_their_indexes_and_read_no_table_through(trail, name):
    statement, given, index = STATEMENTS[name]
    for each in FILL:
        await trail.run(each)
    async with trail.pool.connection() as conn:
        rows = await (await conn.execute(f"EXPLAIN {statement}", given)).fetchall()
    plan = "\n".join(row["QUERY PLAN"] for row in rows)
    assert index in plan
    assert "Seq Scan" not in plan, plan

"""Memories that wait for somebody's yes, put into a database without a worker."""

from __future__ import annotations

from uuid import uuid4

import psycopg

from discreet.state.records import MemoryRecord


def plant_proposal(dsn, user_key, **values):
    """Let a memory of a user wait; return its proposal_key. The user is made if need be."""
    key, record = uuid4(), MemoryRecord(**{"text": "Keeps two African Grey parrots"} | values)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("INSERT INTO discreet.users (user_key) VALUES (%s) ON CONFLICT DO NOTHING", [user_key])
        connection.execute(
            """
            INSERT INTO discreet.memory_proposal (user_key, proposal_key, created_at, request_ids, record)
            VALUES (%s, %s, clock_timestamp(), '{}', %s)
            """,
            [user_key, key, record.model_dump_json()],
        )
    return key

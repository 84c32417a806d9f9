"""Memories that may not both hold, put where an extraction would put them."""

from __future__ import annotations

import psycopg


def plant_conflict(dsn, user_key, older, newer):
    """Mark two stored records of a user as a pair."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO discreet.memory_conflict (user_key, older, newer) VALUES (%s, %s, %s)",
            (user_key, older.entry_id, newer.entry_id),
        )

"""The sums of words that a storage makes in the background."""

from __future__ import annotations

import asyncio

import psycopg

from discreet.storage import Storage


async def first_sum(storage: Storage) -> None:
    """Wait for the sum that a storage begins with.

    It would keep a test's own from being made, and a statement of the test's on the same row, said on the thread of the
    event loop, would wait for ever for a transaction that this loop has to end.
    """
    for _ in range(500):
        with psycopg.connect(storage.dsn) as connection:
            row = connection.execute("SELECT counted_at > 'epoch' FROM discreet.corpus").fetchone()
        if row == (True,):
            return
        await asyncio.sleep(0.02)
    raise TimeoutError

"""How much short-term memory takes: no more than a look at sizes that the server knows anyway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol

from discreet.driver_errors import storage_errors
from discreet.storage.database.connecting.connection import StorageConnection
from discreet.storage.database.connecting.pool import Pool

_SIZE: Final = """
SELECT ({0}('discreet.short_term_session'::regclass) + {0}('discreet.short_term_round'::regclass)
    + {0}('discreet.short_term_work'::regclass))::int8 AS bytes
"""
_OF_TABLES: Final = _SIZE.format("pg_total_relation_size")
_OF_SHARDS: Final = _SIZE.format("citus_total_relation_size")


class Size(NamedTuple):
    """Bytes, indexes included."""

    store: Literal["postgres", "redis"]
    used: int
    limit: int | None
    """None: the store has no limit of its own."""


class Measured(Protocol):
    """A store that tells its size."""

    async def size(self) -> Size:
        """Return how much it takes.

        Raises:
            StorageError: It can't be read.
        """
        ...


async def size_of_tables(pool: Pool) -> Size:
    """Return how much the UNLOGGED tables take, on all nodes of a cluster.

    Raises:
        StorageError: The database failed.
    """
    with storage_errors():
        async with pool.connection() as conn:
            spread = isinstance(conn, StorageConnection) and conn.is_cluster
            row = await (await conn.execute(_OF_SHARDS if spread else _OF_TABLES)).fetchone()
    assert row is not None  # it always has one
    return Size("postgres", row["bytes"], None)


def size_of_redis(told: Sequence[Mapping[str, Any]]) -> Size:
    """Return what the servers say of their memory (INFO), together."""
    limits = [int(server["maxmemory"]) for server in told]
    return Size("redis", sum(int(server["used_memory"]) for server in told), sum(limits) if all(limits) else None)

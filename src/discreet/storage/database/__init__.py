"""Reach the database: the pool, migrations, keys, sealing, leases, batching."""

from discreet.storage.database.connecting.connection import connect
from discreet.storage.database.connecting.pool import Pool, make_pool
from discreet.storage.database.migrating.migrations import migrate
from discreet.storage.database.sealing import FieldSealer

__all__ = ["FieldSealer", "Pool", "connect", "make_pool", "migrate"]

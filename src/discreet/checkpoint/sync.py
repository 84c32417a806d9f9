"""The sync twin of the saver. It decides nothing: every decision is in `tiers` and `tiered_reader`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import Connection
from psycopg_pool import ConnectionPool, PoolTimeout

from discreet.checkpoint.async_api import AsyncApi
from discreet.checkpoint.from_storage import OpenStorage, check_loop, keys_of
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.postgres import (
    CONNECT_TIMEOUT_SECONDS,
    CONNECTION,
    AsyncPostgresTier,
    PostgresTier,
    check_pool,
)
from discreet.checkpoint.postgres_spill import PostgresSpill, SyncPostgresSpill
from discreet.checkpoint.scratch import Scratch, ScratchLimits
from discreet.checkpoint.spill import spill_keys
from discreet.checkpoint.sync_api import SyncApi
from discreet.checkpoint.unnamed_channels import tell_adopted
from discreet.errors import StorageUnavailableError
from discreet.ports import KeyProvider, TurnVault
from discreet.settings import load_settings


class RedactingSyncSaver(AsyncApi, SyncApi):
    """`RedactingSaver` for graphs that run without an event loop."""

    @classmethod
    @contextmanager
    def from_conn_string(
        cls,
        dsn: str,
        policy: CheckpointPolicy | None = None,
        *,
        keys: KeyProvider | None = None,
        schema: str | None = None,
        scratch: Scratch | ScratchLimits | None = None,
        pause_seconds: float | None = None,
        history_ttl: float | None = None,
        vault: TurnVault | None = None,
        restore: bool = True,
    ) -> Iterator[Self]:
        """Yield a saver over a pool of its own, of DISCREET_POOL_SIZE connections. Call `setup` once.

        For `keys` and what follows see `from_pool`.

        Raises:
            StorageUnavailableError: No connection in ten seconds.
        """
        pool: ConnectionPool[Connection[Any]] = ConnectionPool(
            dsn,
            min_size=1,
            max_size=load_settings().pool_size,
            timeout=CONNECT_TIMEOUT_SECONDS,
            kwargs=CONNECTION,
            open=False,
        )
        try:
            pool.open(wait=True, timeout=CONNECT_TIMEOUT_SECONDS)
        except PoolTimeout as error:
            pool.close()
            raise StorageUnavailableError from error
        with pool:
            yield cls.from_pool(
                pool,
                policy,
                keys=keys,
                schema=schema,
                scratch=scratch,
                pause_seconds=pause_seconds,
                history_ttl=history_ttl,
                vault=vault,
                restore=restore,
            )

    @classmethod
    def from_pool(
        cls,
        pool: ConnectionPool[Connection[Any]],
        policy: CheckpointPolicy | None = None,
        *,
        keys: KeyProvider | None = None,
        schema: str | None = None,
        scratch: Scratch | ScratchLimits | None = None,
        pause_seconds: float | None = None,
        history_ttl: float | None = None,
        vault: TurnVault | None = None,
        restore: bool = True,
    ) -> Self:
        """Return a saver over `pool`, which stays the caller's.

        With `keys`, or those of DISCREET_ENCRYPTION_KEYS if DISCREET_SPILL is on, paused turns are sealed and kept in the
        database, so that another process can resume them.

        `schema`: where all tables are. Default: where LangGraph's are in sight of the role's search_path, else where
        LangGraph would create them. `setup` creates it if need be.

        `vault` holds what placeholders stand for, by default this process's memory; with `restore=False` nothing is held, nor shown to
        later turns.

        Raises:
            ConfigurationError: DISCREET_SPILL is on and there is no key, or `pool` is of the other face.
        """
        check_pool(pool, ConnectionPool)
        keys = keys or spill_keys()
        spill = SyncPostgresSpill(pool, keys, schema=schema, ttl_seconds=pause_seconds) if keys else None
        return cls(
            PostgresSaver(pool),
            policy=policy,
            scratch=scratch,
            spill=spill,
            schema=schema,
            pause_seconds=pause_seconds,
            history_ttl=history_ttl,
            vault=vault,
            restore=restore,
        )

    @classmethod
    def from_storage(
        cls,
        storage: OpenStorage,
        policy: CheckpointPolicy | None = None,
        *,
        schema: str | None = None,
        scratch: Scratch | ScratchLimits | None = None,
        pause_seconds: float | None = None,
        history_ttl: float | None = None,
        restore: bool = True,
    ) -> Self:
        """Return a saver that takes everything a storage has: its pool, its vault, and its keys for paused turns.

        The storage is of `open_storage_sync`, or belongs to the event loop of another thread. Where there are keys, paused turns are sealed
        and kept in the database, so that another process can resume them, unless DISCREET_SPILL is off.

        Raises:
            ConfigurationError: The storage belongs to the event loop that calls this.
        """
        check_loop(storage, blocking=True)
        keys = keys_of(storage) or spill_keys()

        async def make() -> Self:
            return cls(
                AsyncPostgresSaver(storage.pool),
                policy=policy,
                scratch=scratch,
                spill=PostgresSpill(storage.pool, keys, schema=schema, ttl_seconds=pause_seconds) if keys else None,
                schema=schema,
                pause_seconds=pause_seconds,
                history_ttl=history_ttl,
                vault=storage.vault,
                restore=restore,
            )

        return asyncio.run_coroutine_threadsafe(make(), storage.loop).result()

    def setup(self, *, guard: bool | None = None) -> None:
        """Create or upgrade the tables of the durable tier, if it has any. Several processes may call it at once.

        `guard`: whether the database itself refuses tool messages, system messages and `Send` in these tables. By default
        it does where this call creates them. True adds it, for new rows, where other savers have written before; they
        can't go on from then. False removes it.

        Where nothing is missing it changes nothing, and a role that owns nothing may call it.

        Raises:
            MigrationError: Another process has been at it for a minute, or this role may not create what is missing.
            UnsupportedServerError: The database is not UTF-8.
            ConfigurationError: There are several sets of tables in sight, and no `schema` says which is meant; or connections of
                the pool have another client_encoding than UTF8.
        """
        if isinstance(self._durable, AsyncPostgresTier):
            asyncio.run_coroutine_threadsafe(self._asetup(guard=guard), self._durable.loop).result()
            return
        if isinstance(self._durable, PostgresTier):
            self._durable.setup(guard=guard, tell_adopted=partial(tell_adopted, policy=self.policy))
        elif setup := getattr(self._durable, "setup", None):
            setup()
        self._maintenance.setup()
        if spill := self._spill:
            spill.setup()

"""The async saver."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from discreet.checkpoint.async_api import AsyncApi
from discreet.checkpoint.from_storage import OpenStorage, check_loop, keys_of
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.postgres import CONNECT_TIMEOUT_SECONDS, CONNECTION, check_pool
from discreet.checkpoint.postgres_spill import PostgresSpill
from discreet.checkpoint.scratch import Scratch, ScratchLimits
from discreet.checkpoint.spill import spill_keys
from discreet.checkpoint.sync_api import SyncApi
from discreet.errors import StorageUnavailableError
from discreet.ports import KeyProvider, TurnVault
from discreet.settings import load_settings


class RedactingSaver(AsyncApi, SyncApi):
    """A checkpointer in front of any other, which gets redacted user messages and final answers only.

    While a turn runs, pauses or fails, its checkpoints live in this object, whole: tool loops, interrupts and retries
    work as ever. When the turn is over, what the policy allows of it is stored, and the rest is forgotten. Another
    process sees turns that are over, and the user's message of a turn that isn't. Use one saver a process.

    Node names and channel names are stored as they are, and so is `thread_id`: one that holds personal data or a secret is refused, or
    by DISCREET_SENSITIVE_IDS replaced by a digest (docs/identifiers.md).

    Example:
        >>> from langgraph.checkpoint.memory import InMemorySaver
        >>> from discreet.checkpoint import REDACT, CheckpointPolicy, RedactingSaver
        >>> saver = RedactingSaver(InMemorySaver(), policy=CheckpointPolicy(channels={"topic": REDACT}))
    """

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
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
    ) -> AsyncIterator[Self]:
        """Yield a saver over a pool of its own, of DISCREET_POOL_SIZE connections. Call `setup` once.

        For `keys` and what follows see `from_pool`.

        Raises:
            StorageUnavailableError: No connection in ten seconds.
        """
        pool: AsyncConnectionPool[AsyncConnection[Any]] = AsyncConnectionPool(
            dsn,
            min_size=1,
            max_size=load_settings().pool_size,
            timeout=CONNECT_TIMEOUT_SECONDS,
            kwargs=CONNECTION,
            open=False,
        )
        try:
            await pool.open(wait=True, timeout=CONNECT_TIMEOUT_SECONDS)
        except PoolTimeout as error:
            await pool.close()
            raise StorageUnavailableError from error
        async with pool:
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
        pool: AsyncConnectionPool[AsyncConnection[Any]],
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
        """Return a saver over `pool`, which stays the caller's. Needs a running event loop.

        With `keys`, or those of DISCREET_ENCRYPTION_KEYS if DISCREET_SPILL is on, paused turns are sealed and kept in the
        database, so that another process can resume them.

        `schema`: where all tables are. Default: where LangGraph's are in sight of the role's search_path, else where
        LangGraph would create them. `setup` creates it if need be.

        `vault` holds what placeholders stand for, by default this process's memory; with `restore=False` nothing is held, nor shown to
        later turns.

        Raises:
            ConfigurationError: DISCREET_SPILL is on and there is no key, or `pool` is of the other face.
        """
        check_pool(pool, AsyncConnectionPool)
        keys = keys or spill_keys()
        spill = PostgresSpill(pool, keys, schema=schema, ttl_seconds=pause_seconds) if keys else None
        return cls(
            AsyncPostgresSaver(pool),
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
        """Return a saver that takes everything an open storage has: its pool, its vault, and its keys for paused turns.

        Where there are keys, paused turns are sealed and kept in the database, so that another process can resume them, unless
        DISCREET_SPILL is off.

        Raises:
            ConfigurationError: The storage belongs to another event loop.
        """
        check_loop(storage, blocking=False)
        return cls.from_pool(
            storage.pool,
            policy,
            keys=keys_of(storage),
            schema=schema,
            scratch=scratch,
            pause_seconds=pause_seconds,
            history_ttl=history_ttl,
            vault=storage.vault,
            restore=restore,
        )

    async def setup(self, *, guard: bool | None = None) -> None:
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
        await self._asetup(guard=guard)

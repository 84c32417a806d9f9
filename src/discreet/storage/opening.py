"""Open the storage of a process: find a server, migrate it, fill the pool."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from discreet.access.user_keys import load_user_keys
from discreet.background_loop import wait_for
from discreet.checkpoint.migrating import migrate_checkpoints
from discreet.driver_errors import storage_errors
from discreet.encryption import keys_from_settings
from discreet.ports import EmbeddingProvider, KeyProvider, TextRedactor
from discreet.providers import embedding_provider
from discreet.providers.environment_values import environment_values
from discreet.providers.in_force import tell_in_force
from discreet.redaction.configured import default_redactor
from discreet.settings import Settings, load_settings
from discreet.storage.audit.choice import audit_log
from discreet.storage.audit.marks import bind_database
from discreet.storage.database.access import DatabaseAccess, access_of, prepare_embedded
from discreet.storage.database.connecting.pool import Pool, is_cluster, make_pool, reads_only, sees_everybody
from discreet.storage.database.connecting.target import PasswordProvider, target_of
from discreet.storage.database.migrating.migrations import migrate
from discreet.storage.database.roles import refresh_roles
from discreet.storage.embedded import lease_server
from discreet.storage.embedded.watch import PERIOD_SECONDS, watched
from discreet.storage.embedding_choice import Choice, chosen_embeddings
from discreet.storage.maintenance import maintenance
from discreet.storage.memories.spaces.spaces import register_space
from discreet.storage.rekeying import tell_of_plain_rows
from discreet.storage.settings.postgres_settings import POLL_SECONDS, PostgresSettingsStore
from discreet.storage.warming import WarmUp, what_turns_need
from discreet.storage.wiring import Storage, wire

WORKS_POOL_SIZE = 3
"""Connections of a process for what concerns all users. None is opened before it is needed."""


@asynccontextmanager
async def open_storage(
    dsn: str | None = None,
    *,
    settings: Settings | None = None,
    embeddings: EmbeddingProvider | None = None,
    redactor: TextRedactor | None = None,
    keys: KeyProvider | None = None,
    password: PasswordProvider | None = None,
    maintained: bool = True,
    warm_after: float = 0.0,
) -> AsyncIterator[Storage]:
    """Open the database, bring its schema up to date and yield what works on it.

    The database is `dsn`, else `settings.postgres_dsn`, else the embedded server in `settings.data_dir`. Embeddings, the
    redactor and the keys that texts are sealed under are those that the settings name unless given; the embedding model
    that the database names goes before that of the settings. `password` is called for each new connection, as for the tokens of
    a cloud that last some minutes. Beside it maintenance runs, unless `maintained` says otherwise: what is kept for a while goes
    when that is over (docs/retention.md), memories are re-embedded, words are counted.

    What the first turn needs is loaded in the background, `warm_after` seconds later or with the first turn, which waits for it:
    the local embedding model, the redactor's tables, statements. Where nothing is maintained it is loaded when it is asked for.

    A database that can only be read, such as a standby, is searched; what would write raises `ReadOnlyServerError`.

    Raises:
        StorageUnavailableError: The server can't be reached.
        UnsupportedServerError: PostgreSQL or pgvector is too old or missing.
        MigrationError: The schema could not be brought up to date.
        EmbeddedServerError: The embedded server can't be started.
        ConfigurationError: The DSN can't be read, the settings name an unknown model or a vault without a key, the
            database's keys were made with another identity key, or its memories were embedded by a provider that no
            setting names.

    Example:
        >>> from discreet.state.records import MemoryRecord
        >>> async def remember(dsn: str) -> str:
        ...     async with open_storage(dsn) as storage:
        ...         await storage.memories.save("ann", [MemoryRecord(text="Keeps two African Grey parrots")])
        ...         found = await storage.memories.search("ann", "Which birds do I have?")
        ...         return found[0].record.text
    """
    settings = settings or load_settings()
    environment = environment_values(settings)
    named = embeddings or embedding_provider(settings=settings)
    redactor = redactor or default_redactor()
    keys = keys or keys_from_settings(settings)
    async with resolve_dsn(dsn, settings) as found, AsyncExitStack() as opened:
        access = access_of(found, settings, password=password)
        applied = await migrate(access.owner)
        if access.has_roles:
            made = await migrate_checkpoints(access.owner.dsn)
            if applied or made.steps:
                await refresh_roles(access.owner)
        elif dsn is None and settings.postgres_dsn is None and settings.row_security:
            await migrate_checkpoints(found)
            access = await prepare_embedded(found, settings)
        user_keys = await asyncio.to_thread(load_user_keys, settings)
        pool = make_pool(access.app, max_size=settings.pool_size)
        pool.user_keys = user_keys
        try:
            with storage_errors():
                await pool.open(wait=True)
                works = await opened.enter_async_context(_works_pool(pool, access))
                await bind_database(pool, user_keys)
                audit = audit_log(pool, settings, user_keys)
                memory_settings = PostgresSettingsStore(pool, environment=environment, audit=audit)
                await memory_settings.read()
                choice = (
                    await chosen_embeddings(pool, memory_settings, settings, otherwise=named)
                    if embeddings is None
                    else Choice(embeddings, is_named=True)
                )
                used = choice.embeddings
                read_only = await reads_only(pool)
                space = await register_space(pool, used)
                if keys is not None and works is not None:
                    await tell_of_plain_rows(works)
            warm_up = WarmUp(what_turns_need(used, redactor, user_keys), after=warm_after if maintained else None)
            wired = wire(
                pool,
                settings,
                works=works,
                access=access,
                read_pool=await opened.enter_async_context(_read_pool(settings, password)),
                read_only=read_only,
                joins=not read_only and not await is_cluster(pool),
                embeddings=used,
                space=space,
                redactor=redactor,
                keys=keys,
                user_keys=user_keys,
                memory_settings=memory_settings,
                audit=audit,
                warm_up=warm_up,
            )
            tell_in_force(settings, memory_settings.live, used, given=embeddings is not None, named=choice.is_named)
            try:
                async with (
                    maintenance(wired.works if maintained else {}),
                    maintenance(wired.watching, period=POLL_SECONDS, delay=POLL_SECONDS),
                    warm_up.running(wired.statements),
                ):
                    yield wired.storage
            finally:
                await wired.close()
        finally:
            await pool.close()


@asynccontextmanager
async def _works_pool(pool: Pool, access: DatabaseAccess) -> AsyncIterator[Pool | None]:
    """Yield the pool for what concerns all users; None if no role that a process has may see them all."""
    if access.worker == access.app:
        yield pool if await sees_everybody(pool) else None
        return
    async with make_pool(access.worker, max_size=WORKS_POOL_SIZE, min_size=0) as works:
        yield works


@asynccontextmanager
async def _read_pool(settings: Settings, password: PasswordProvider | None) -> AsyncIterator[Pool | None]:
    """Yield the pool of the replica that the settings name. Nobody waits for it to answer."""
    if settings.postgres_read_dsn is None:
        yield None
        return
    target = target_of(settings.postgres_read_dsn.get_secret_value(), settings, password=password)
    async with make_pool(target, max_size=settings.pool_size) as pool:
        yield pool


@contextmanager
def open_storage_sync(
    dsn: str | None = None,
    *,
    settings: Settings | None = None,
    embeddings: EmbeddingProvider | None = None,
    redactor: TextRedactor | None = None,
    keys: KeyProvider | None = None,
    password: PasswordProvider | None = None,
) -> Iterator[Storage]:
    """Do what `open_storage` does, for programs without an event loop.

    The storage belongs to the background loop that the nodes' blocking faces run on, see `discreet.background_loop`. Its
    `memories`, `log`, `short_term`, `summaries`, `vault` and `memory_settings` can be awaited from any loop.

    Raises:
        StorageError: As `open_storage`.
        ConfigurationError: As `open_storage`.

    Example:
        >>> from discreet.background_loop import wait_for
    from discreet.checkpoint.migrating import migrate_checkpoints
        >>> def remembered(dsn: str) -> int:
        ...     with open_storage_sync(dsn) as storage:
        ...         return len(wait_for(storage.memories.latest("ann")))
    """
    opened = open_storage(
        dsn, settings=settings, embeddings=embeddings, redactor=redactor, keys=keys, password=password
    )
    storage, process = wait_for(opened.__aenter__()), os.getpid()
    try:
        yield storage
    finally:
        if os.getpid() == process:  # else it is the one's that this was forked from
            wait_for(opened.__aexit__(None, None, None))


@asynccontextmanager
async def resolve_dsn(dsn: str | None, settings: Settings) -> AsyncIterator[str]:
    """Yield `dsn`, else the one of the settings, else that of an embedded server, which is released at the end.

    The embedded server is kept running: whoever kills it, it is there again a moment later, under the same DSN.

    Raises:
        EmbeddedServerError: The embedded server can't be started.
    """
    if dsn is None and settings.postgres_dsn is not None:
        dsn = settings.postgres_dsn.get_secret_value()
    if dsn is not None:
        yield dsn
        return
    data_dir, version = Path(settings.data_dir), settings.postgres_version
    lease = lease_server(data_dir, version=version)
    embedded = await asyncio.to_thread(lease.__enter__)
    try:
        with watched(embedded, data_dir, version) as watch:
            async with maintenance({"embedded_server": watch.look}, period=PERIOD_SECONDS, delay=PERIOD_SECONDS):
                yield embedded
    finally:
        await asyncio.to_thread(lease.__exit__, None, None, None)

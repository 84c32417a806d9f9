"""Open the storage of a process: find a server, migrate it, fill the pool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from discreet.driver_errors import storage_errors
from discreet.encryption import keys_from_settings
from discreet.ports import ConversationLog, EmbeddingProvider, KeyProvider, Memories, TextRedactor
from discreet.providers import embedding_provider
from discreet.redaction.configured import default_redactor
from discreet.retrieval.dedup import DedupThresholds
from discreet.settings import Settings, load_settings
from discreet.storage.base_store import DiscreetStore
from discreet.storage.conversation_log import PostgresConversationLog
from discreet.storage.embedded import lease_server
from discreet.storage.frequencies import TokenFrequencies
from discreet.storage.large_users import LargeUsers
from discreet.storage.memories import PostgresMemories
from discreet.storage.migrations import migrate
from discreet.storage.pool import Pool, make_pool
from discreet.storage.reembedding import Reembedding
from discreet.storage.saving import SaveRules
from discreet.storage.sealing import FieldSealer
from discreet.storage.spaces import register_space
from discreet.storage.store_reading import StoreRules
from discreet.storage.store_running import StoreRunner
from discreet.storage.upkeep import Work, reembed, upkeep


@dataclass(frozen=True, kw_only=True)
class Storage:
    """What a process needs of its database, while it is open."""

    pool: Pool
    """Connections in autocommit with rows as dicts; LangGraph's own Postgres classes take it."""
    memories: Memories
    """Long-term memory."""
    log: ConversationLog
    """Conversation log and session records."""
    store: DiscreetStore
    """LangGraph's store, for `compile(store=…)` and langgraph.json."""
    dsn: str = field(repr=False)
    """Where the database is. May hold a password."""


@asynccontextmanager
async def open_storage(
    dsn: str | None = None,
    *,
    settings: Settings | None = None,
    embeddings: EmbeddingProvider | None = None,
    redactor: TextRedactor | None = None,
    keys: KeyProvider | None = None,
) -> AsyncIterator[Storage]:
    """Open the database, bring its schema up to date and yield what works on it.

    The database is `dsn`, else `settings.postgres_dsn`, else the embedded server in `settings.data_dir`. Embeddings, the
    redactor and the keys that texts are sealed under are those that the settings name unless given.

    Raises:
        StorageUnavailableError: The server can't be reached.
        UnsupportedServerError: PostgreSQL or pgvector is too old or missing.
        MigrationError: The schema could not be brought up to date.
        EmbeddedServerError: The embedded server can't be started.
        ConfigurationError: The DSN can't be read, or the settings name an unknown model.

    Example:
        >>> from discreet.state.records import MemoryRecord
        >>> async def remember(dsn: str) -> str:
        ...     async with open_storage(dsn) as storage:
        ...         await storage.memories.save("ann", [MemoryRecord(text="Keeps two African Grey parrots")])
        ...         found = await storage.memories.search("ann", "Which birds do I have?")
        ...         return found[0].record.text
    """
    settings = settings or load_settings()
    redactor = redactor or default_redactor()
    embeddings = embeddings or embedding_provider(settings=settings)
    sealer = FieldSealer(keys or keys_from_settings(settings))
    thresholds = DedupThresholds(same=settings.update_threshold, similar=settings.dedup_threshold)
    async with resolve_dsn(dsn, settings) as found:
        await migrate(found)
        pool = make_pool(found, max_size=settings.pool_size)
        try:
            with storage_errors():
                await pool.open(wait=True)
                space = await register_space(pool, embeddings)
            reembedding = Reembedding(pool, embeddings=embeddings, space=space, sealer=sealer)
            large_users = LargeUsers(pool, dsn=found, space=space, limit=settings.large_user_memories)
            rules = SaveRules(space=space, thresholds=thresholds, limit=settings.max_memories_per_user, sealer=sealer)
            memories = PostgresMemories(
                pool,
                embeddings=embeddings,
                rules=rules,
                redactor=redactor,
                fusion=settings.fusion,
                large_users=large_users,
                want=reembedding.want,
            )
            frequencies = TokenFrequencies(pool)
            runner = StoreRunner(
                pool=pool,
                embeddings=embeddings,
                frequencies=frequencies,
                slots=asyncio.Semaphore(pool.max_size),
                rules=StoreRules(space=space, sealer=sealer, fusion=settings.fusion),
            )
            store = DiscreetStore(runner, redactor=redactor)
            works: dict[str, Work] = {}
            if settings.reembed:
                works["reembedding"] = partial(reembed, reembedding, pool=pool, dsn=found, space=space)
            if settings.large_user_memories:
                works["large_users"] = large_users.keep
            try:
                async with upkeep(works):
                    yield Storage(
                        pool=pool,
                        memories=memories,
                        log=PostgresConversationLog(pool, redactor=redactor, sealer=sealer),
                        store=store,
                        dsn=found,
                    )
            finally:
                await store.stop_ttl_sweeper()
                await frequencies.close()
                await memories.close()
        finally:
            await pool.close()


@asynccontextmanager
async def resolve_dsn(dsn: str | None, settings: Settings) -> AsyncIterator[str]:
    """Yield `dsn`, else the one of the settings, else that of an embedded server, which is released at the end.

    Raises:
        EmbeddedServerError: The embedded server can't be started.
    """
    if dsn is None and settings.postgres_dsn is not None:
        dsn = settings.postgres_dsn.get_secret_value()
    if dsn is not None:
        yield dsn
        return
    lease = lease_server(Path(settings.data_dir), version=settings.postgres_version)
    embedded = await asyncio.to_thread(lease.__enter__)
    try:
        yield embedded
    finally:
        await asyncio.to_thread(lease.__exit__, None, None, None)

"""Put the parts of a storage together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from discreet.ports import (
    ConversationLog,
    EmbeddingProvider,
    KeyProvider,
    Memories,
    RollingSummaries,
    SettingsStore,
    ShortTermStore,
    TextRedactor,
    TurnVault,
)
from discreet.redaction.vault import default_vault
from discreet.settings import Settings
from discreet.storage.base_store import DiscreetStore
from discreet.storage.conversation_log import PostgresConversationLog
from discreet.storage.frequencies import TokenFrequencies
from discreet.storage.large_users import LargeUsers
from discreet.storage.loop_bound import bound_to_loop
from discreet.storage.memories import PostgresMemories
from discreet.storage.memory_settings import PostgresSettingsStore
from discreet.storage.pool import Pool
from discreet.storage.reembedding import Reembedding
from discreet.storage.saving import SaveRules
from discreet.storage.sealing import FieldSealer
from discreet.storage.short_term_choice import short_term_store
from discreet.storage.short_term_purge import purge_unhurried
from discreet.storage.spaces import EmbeddingSpace
from discreet.storage.store_reading import StoreRules
from discreet.storage.store_running import StoreRunner
from discreet.storage.summaries import PostgresRollingSummaries
from discreet.storage.turn_vault_choice import turn_vault
from discreet.storage.upkeep import Work, reembed


@dataclass(frozen=True, kw_only=True)
class Storage:
    """What a process needs of its database, while it is open."""

    pool: Pool
    """Connections in autocommit with rows as dicts; LangGraph's own Postgres classes take it."""
    memories: Memories
    """Long-term memory."""
    log: ConversationLog
    """Conversation log and session records."""
    short_term: ShortTermStore
    """Sessions, last rounds and claims of work, for up to a day."""
    summaries: RollingSummaries
    """Rolling summaries of threads."""
    store: DiscreetStore
    """LangGraph's store, for `compile(store=…)` and langgraph.json."""
    memory_settings: SettingsStore
    """Settings of memory that are changed while servers run."""
    vault: TurnVault = field(default_factory=default_vault)
    """What running turns really said, where the settings say."""
    dsn: str = field(repr=False)
    """Where the database is. May hold a password."""


@dataclass(frozen=True, kw_only=True)
class Wired:
    """A storage and what belongs to its life."""

    storage: Storage
    works: dict[str, Work]
    """What goes on beside it, by name."""
    watching: dict[str, Work]
    """What looks every few seconds, by name."""
    closing: list[Callable[[], Awaitable[object]]]
    """What is to be done at the end, in this order, while the pool is open."""

    async def close(self) -> None:
        """Write what waits to be written."""
        for close in self.closing:
            await close()


def wire(
    pool: Pool,
    dsn: str,
    settings: Settings,
    *,
    embeddings: EmbeddingProvider,
    space: EmbeddingSpace,
    redactor: TextRedactor,
    keys: KeyProvider | None,
    memory_settings: PostgresSettingsStore,
) -> Wired:
    """Put the parts together over an open pool, which belongs to the running event loop.

    Raises:
        ConfigurationError: The settings ask for what they don't describe.
    """
    sealer = FieldSealer(keys)
    loop = asyncio.get_running_loop()
    frequencies = TokenFrequencies(pool)
    reembedding = Reembedding(pool, embeddings=embeddings, space=space, sealer=sealer)
    large_users = LargeUsers(pool, dsn=dsn, space=space, limit=settings.large_user_memories)
    memories = PostgresMemories(
        pool,
        embeddings=embeddings,
        rules=SaveRules(space=space, memory_settings=memory_settings, sealer=sealer),
        redactor=redactor,
        frequencies=frequencies,
        fusion=settings.fusion,
        large_users=large_users,
        want=reembedding.want,
    )
    runner = StoreRunner(
        pool=pool,
        embeddings=embeddings,
        frequencies=frequencies,
        slots=asyncio.Semaphore(pool.max_size),
        rules=StoreRules(space=space, sealer=sealer, fusion=settings.fusion),
    )
    store = DiscreetStore(runner, redactor=redactor)
    works: dict[str, Work] = {"short_term": partial(purge_unhurried, pool)}
    if settings.reembed:
        works["reembedding"] = partial(reembed, reembedding, pool=pool, dsn=dsn, space=space)
    if settings.large_user_memories:
        works["large_users"] = large_users.keep
    log = PostgresConversationLog(pool, redactor=redactor, sealer=sealer)
    vault, closing_vault = turn_vault(pool, settings, keys=keys)
    short_term, closing = short_term_store(pool, settings, redactor=redactor, sealer=sealer)
    summaries = PostgresRollingSummaries(pool, redactor=redactor, sealer=sealer)
    return Wired(
        storage=Storage(
            pool=pool,
            memories=bound_to_loop(memories, loop),
            log=bound_to_loop(log, loop),
            short_term=bound_to_loop(short_term, loop),
            summaries=bound_to_loop(summaries, loop),
            store=store,
            vault=bound_to_loop(vault, loop) if settings.turn_vault != "memory" else vault,
            memory_settings=bound_to_loop(memory_settings, loop),
            dsn=dsn,
        ),
        works=works,
        watching={"settings": memory_settings.read},
        closing=[lambda: store.stop_ttl_sweeper(None), memories.close, frequencies.close, *closing, *closing_vault],
    )

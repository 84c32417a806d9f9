"""Put the parts of a storage together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from discreet.access.user_keys import UserKeys
from discreet.checkpoint.postgres.owned import OwnedThreads
from discreet.loop_bound import bound_to_loop
from discreet.ports import (
    AuditLog,
    EmbeddingProvider,
    KeyProvider,
    Memories,
    NoAudit,
    RollingSummaries,
    SettingsStore,
    ShortTermStore,
    TextRedactor,
    TurnVault,
    VectorStore,
)
from discreet.redaction.vault import default_vault
from discreet.settings import Settings
from discreet.storage.audit.choice import audit_sealer
from discreet.storage.audit.log import PostgresAuditLog
from discreet.storage.background.ages import Ages
from discreet.storage.background.background import Background
from discreet.storage.background.status import Watch
from discreet.storage.conversation.log import PostgresConversationLog
from discreet.storage.conversation.summaries import PostgresRollingSummaries
from discreet.storage.database.access import DatabaseAccess
from discreet.storage.database.connecting.health import DatabaseHealth
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.connecting.reading import Reader
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.users.erasures import ErasureWatch
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.database.users.owners import Owners
from discreet.storage.delegation import PostgresDelegations
from discreet.storage.embedded.watch import is_coming_back
from discreet.storage.maintenance import Work, after
from discreet.storage.memories.memories import PostgresMemories
from discreet.storage.memories.saving import SaveRules
from discreet.storage.memories.spaces.reembedding import Reembedding
from discreet.storage.memories.spaces.reembedding_job import reembed
from discreet.storage.memories.spaces.spaces import EmbeddingSpace
from discreet.storage.memories.token_counts import TokenSums
from discreet.storage.memories.token_frequencies import TokenFrequencies
from discreet.storage.memories.vector_store import PostgresVectorStore
from discreet.storage.people import People
from discreet.storage.retention import Retention
from discreet.storage.retention.kinds import sweepers
from discreet.storage.sampling import Sampling
from discreet.storage.settings.postgres_settings import PostgresSettingsStore
from discreet.storage.short_term.choice import short_term_store
from discreet.storage.store.postgres_store import DiscreetStore
from discreet.storage.store.reading import StoreRules
from discreet.storage.store.running import StoreRunner
from discreet.storage.vault.choice import turn_vault
from discreet.storage.warming import WarmUp

logger = logging.getLogger(__name__)

SWEEP_DELAY_SECONDS = 2.0
"""A process opens one connection at first; a sweep at that moment would make it open another."""


@dataclass(frozen=True, kw_only=True)
class Storage:
    """What a process needs of its database, while it is open."""

    pool: Pool
    """Connections in autocommit with rows as dicts. LangGraph's own Postgres classes take it where there is no row-level security
    (docs/roles.md): they name no user, and make tables."""
    works_pool: Pool
    """The same as a role that sees all users; `pool` itself where one role does both, or none may."""
    read_pool: Pool | None = None
    """The same to a replica that memories are searched on, if there is one."""
    memories: Memories
    """Long-term memory."""
    vectors: VectorStore
    """The same, for those who bring vectors of their own."""
    log: PostgresConversationLog
    """Conversation log and session records."""
    short_term: ShortTermStore
    """Sessions, last rounds and claims of work, for up to a day."""
    summaries: RollingSummaries
    """Rolling summaries of threads."""
    store: DiscreetStore
    """LangGraph's store, for `compile(store=…)` and langgraph.json."""
    background: Background
    """What is made of conversations afterwards, in batches."""
    memory_settings: SettingsStore
    """Settings of memory that are changed while servers run."""
    vault: TurnVault = field(default_factory=default_vault)
    """What running turns really said, where the settings say."""
    retention: Retention
    """What deletes what was kept as long as it is kept."""
    audit: AuditLog
    """Who did what to whose data."""
    people: People
    """Whose data there is, for administrators."""
    delegations: PostgresDelegations
    """Who may read what is somebody else's."""
    health: DatabaseHealth
    """Whether the database works, and whether its connections are all in use."""
    ages: Ages
    """How long what waits for workers."""
    threads: OwnedThreads
    """Whose the checkpointer's threads are."""
    embeds_with: str
    """Which embedding model it works with, as provider:model:dims: what was given, else what the settings said when it was opened."""
    sealer: FieldSealer = field(repr=False)
    """What opens sealed columns."""
    keys: KeyProvider | None = field(default=None, repr=False)
    """What seals, if anything does."""
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop, repr=False)
    """The event loop that its connections work on."""
    access: DatabaseAccess = field(repr=False)
    """As which roles it is worked on."""
    dsn: str = field(repr=False)
    """Where the database is. May hold a password, and lacks one that a provider gives."""

    @property
    def is_restarting(self) -> bool:
        """Whether the database is an embedded server that has ended and is started again."""
        return self.pool.is_refused and is_coming_back(self.access.owner.dsn)


@dataclass(frozen=True, kw_only=True)
class Wired:
    """A storage and what belongs to its life."""

    storage: Storage
    works: dict[str, Work]
    """What goes on beside it, by name."""
    watching: dict[str, Work]
    """What looks every few seconds, by name."""
    statements: Work
    """Executes what the first turn asks of the database."""
    closing: list[Callable[[], Awaitable[object]]]
    """What is to be done at the end, in this order, while the pool is open."""

    async def close(self) -> None:
        """Write what waits to be written."""
        for close in self.closing:
            await close()


def wire(
    pool: Pool,
    settings: Settings,
    *,
    works: Pool | None,
    access: DatabaseAccess,
    read_pool: Pool | None,
    read_only: bool,
    joins: bool,
    embeddings: EmbeddingProvider,
    space: EmbeddingSpace,
    redactor: TextRedactor,
    keys: KeyProvider | None,
    user_keys: UserKeys,
    memory_settings: PostgresSettingsStore,
    audit: PostgresAuditLog | NoAudit,
    warm_up: WarmUp,
) -> Wired:
    """Put the parts together over an open pool, which belongs to the running event loop.

    Raises:
        ConfigurationError: The settings ask for what they don't describe.
    """
    sealer = FieldSealer(keys)
    owners = Owners(user_keys, memory_settings=memory_settings)
    loop = asyncio.get_running_loop()
    locks = UserLocks(pool)
    frequencies = TokenFrequencies(pool)
    everybody = works or pool  # a role that may not see all users is refused what is about them all
    reembedding = Reembedding(everybody, locks=locks, embeddings=embeddings, space=space, sealer=sealer)
    rules = SaveRules(space=space, memory_settings=memory_settings, sealer=sealer, keys=user_keys)
    memories = PostgresMemories(
        pool,
        embeddings=embeddings,
        rules=rules,
        redactor=redactor,
        frequencies=frequencies,
        locks=locks,
        fusion=settings.fusion,
        want=reembedding.want,
        read_pool=read_pool,
        audit=audit,
        ready=warm_up.ready,
        joins=joins,
    )
    vectors = PostgresVectorStore(memories, reader=Reader(pool, read_pool), rules=rules, redactor=redactor)
    runner = StoreRunner(
        pool=pool,
        works=works,
        embeddings=embeddings,
        frequencies=frequencies,
        locks=locks,
        rules=StoreRules(space=space, sealer=sealer, fusion=settings.fusion, keys=user_keys),
        audit=audit,
    )
    store = DiscreetStore(runner, redactor=redactor)
    sweeping = sweepers(everybody, rules=rules, keys=user_keys, audit=audit, pause_seconds=settings.pause_seconds)
    retention = Retention(everybody, sweeping, memory_settings=memory_settings, audit=audit)
    short_term, closing = short_term_store(
        pool, settings, redactor=redactor, sealer=sealer, keys=user_keys, memory_settings=memory_settings
    )
    jobs: dict[str, Work] = {
        "retention": after(SWEEP_DELAY_SECONDS, retention.keep),
        "token_counts": TokenSums(everybody).keep,
        "audit_seals": after(SWEEP_DELAY_SECONDS, audit_sealer(everybody, settings, user_keys).keep),
    }
    if settings.reembed:
        jobs["reembedding"] = partial(reembed, reembedding, pool=everybody, dsn=access.worker, space=space)
    health = DatabaseHealth(pool)
    ages = Ages(everybody)
    sampling = Sampling(
        health=health,
        watch=Watch(everybody),
        ages=ages,
        short_term=short_term,
        short_term_limit=settings.short_term_bytes,
        memory_settings=memory_settings,
    )
    jobs["waiting"] = after(SWEEP_DELAY_SECONDS, sampling.works)
    if read_only or works is None:
        jobs = {}
    if works is None:
        logger.info("storage.no_maintenance cause=role")
    jobs["database"] = after(SWEEP_DELAY_SECONDS, sampling.database)
    jobs["short_term_size"] = after(SWEEP_DELAY_SECONDS, sampling.sizes)
    background = Background.over(
        everybody, memories=memories, redactor=redactor, sealer=sealer, keys=user_keys, audit=audit
    )
    people = People(everybody, memories=memories, locks=locks, sealer=sealer, audit=audit)
    delegations = PostgresDelegations(pool, keys=user_keys, audit=audit)
    log = PostgresConversationLog(pool, redactor=redactor, sealer=sealer, owners=owners, audit=audit, joins=joins)
    vault, closing_vault = turn_vault(pool, settings, keys=keys)
    summaries = PostgresRollingSummaries(pool, redactor=redactor, sealer=sealer, owners=owners)
    return Wired(
        storage=Storage(
            pool=pool,
            works_pool=everybody,
            read_pool=read_pool,
            memories=bound_to_loop(memories, loop),
            vectors=bound_to_loop(vectors, loop),
            log=bound_to_loop(log, loop),
            short_term=bound_to_loop(short_term, loop),
            summaries=bound_to_loop(summaries, loop),
            store=store,
            background=background.bound_to(loop),
            vault=bound_to_loop(vault, loop) if settings.turn_vault != "memory" else vault,
            memory_settings=bound_to_loop(memory_settings, loop),
            retention=retention,
            audit=bound_to_loop(audit, loop),
            people=people,
            delegations=bound_to_loop(delegations, loop),
            health=bound_to_loop(health, loop),
            ages=bound_to_loop(ages, loop),
            threads=bound_to_loop(OwnedThreads(pool), loop),
            embeds_with=embeddings.name,
            sealer=sealer,
            keys=keys,
            loop=loop,
            access=access,
            dsn=pool.target.dsn,
        ),
        works=jobs,
        watching={
            "settings": memory_settings.read,
            "erasures": ErasureWatch(pool, user_keys).look,
            "token_frequencies": frequencies.keep,
        },
        statements=memories.warm,
        closing=[lambda: store.stop_ttl_sweeper(None), memories.close, *closing, *closing_vault],
    )

"""The async saver."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from discreet.checkpoint.base import KEEP_LATEST, TwoTierSaver
from discreet.checkpoint.places import strip
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.postgres import CONNECT_TIMEOUT_SECONDS, CONNECTION
from discreet.checkpoint.tiers import PutPlan
from discreet.errors import StorageUnavailableError
from discreet.settings import load_settings


class RedactingSaver(TwoTierSaver):
    """A checkpointer in front of any other, which gets redacted user messages and final answers only.

    While a turn runs, pauses or fails, its checkpoints live in this object, whole: tool loops, interrupts and retries
    work as ever. When the turn is over, what the policy allows of it is stored, and the rest is forgotten. Another
    process sees turns that are over, and the user's message of a turn that isn't. Use one saver a process.

    `thread_id`, node names and channel names are stored as they are: keep them opaque.

    Example:
        >>> from langgraph.checkpoint.memory import InMemorySaver
        >>> from discreet.checkpoint import REDACT, CheckpointPolicy, RedactingSaver
        >>> saver = RedactingSaver(InMemorySaver(), policy=CheckpointPolicy(channels={"topic": REDACT}))
    """

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, dsn: str, policy: CheckpointPolicy | None = None) -> AsyncIterator[Self]:
        """Yield a saver over a pool of its own, of DISCREET_POOL_SIZE connections. Call `setup` once.

        Raises:
            StorageUnavailableError: No connection in ten seconds.
        """
        pool: AsyncConnectionPool[AsyncConnection[Any]] = AsyncConnectionPool(
            dsn, min_size=1, max_size=load_settings().pool_size, kwargs=CONNECTION, open=False
        )
        try:
            await pool.open(wait=True, timeout=CONNECT_TIMEOUT_SECONDS)
        except PoolTimeout as error:
            await pool.close()
            raise StorageUnavailableError from error
        async with pool:
            yield cls.from_pool(pool, policy)

    @classmethod
    def from_pool(cls, pool: AsyncConnectionPool[AsyncConnection[Any]], policy: CheckpointPolicy | None = None) -> Self:
        """Return a saver over `pool`, which stays the caller's. Needs a running event loop."""
        return cls(AsyncPostgresSaver(pool), policy=policy)

    async def setup(self) -> None:
        """Create or upgrade the tables of the durable tier, if it has any. Several processes may call it at once."""
        if setup := getattr(self._durable, "setup", None):
            await setup()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that `config` names, or the newest."""
        if held := self._reads.held(config):
            return held
        return self._reads.settle(config, await self._durable.aget_tuple(strip(config)))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  # LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, newest first. Of finished turns there is the input, the start and the end."""
        listing = self._reads.listing(config, filter=filter, before=before, limit=limit)
        async for stored in self._durable.alist(config, filter=filter, before=before, limit=limit):
            for item in listing.upto(stored):
                yield item
        for item in listing.rest():
            yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002  # relative to LangGraph's last put, which may be in RAM only
    ) -> RunnableConfig:
        """Keep `checkpoint`, and store of it what the policy allows once it may be stored."""
        await self._look_up(config)
        plan = self._tiers.plan_put(config, checkpoint, metadata)
        await self._store(plan)
        return plan.config

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep a task's writes, and store of them what the policy allows if their checkpoint is stored."""
        await self._look_up(config)
        pause = self._tiers.plan_pause(config, writes)
        if call := self._tiers.plan_writes(config, writes, task_id, task_path):
            await self._durable.aput_writes(*call)
        if pause is not None:
            await self._store(pause)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread from both tiers."""
        await self._durable.adelete_thread(str(thread_id))
        self._scratch.drop(str(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what these runs left in both tiers."""
        runs = [str(run_id) for run_id in run_ids]
        await self._durable.adelete_for_runs(runs)
        self._tiers.forget_runs(runs)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread, with its open turn if this process has one."""
        await self._durable.acopy_thread(str(source_thread_id), str(target_thread_id))
        self._scratch.copy(str(source_thread_id), str(target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = KEEP_LATEST) -> None:
        """Delete the history of threads ("keep_latest"), or all of them ("delete")."""
        threads = [str(thread_id) for thread_id in thread_ids]
        await self._durable.aprune(threads, strategy=strategy)
        self._tiers.forget_history(threads, turns=strategy != KEEP_LATEST)

    async def _look_up(self, config: RunnableConfig) -> None:
        if where := self._tiers.unknown(config):
            self._tiers.learn(await self._durable.aget_tuple(where))

    async def _store(self, plan: PutPlan) -> None:
        if plan.durable is not None:
            await self._durable.aput(*plan.durable)
            for waiting in self._tiers.confirm(plan):
                await self._durable.aput_writes(*waiting)

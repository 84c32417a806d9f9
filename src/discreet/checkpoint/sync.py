"""The sync twin of the saver. It decides nothing: every decision is in `tiers` and `reads`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg import Connection
from psycopg_pool import ConnectionPool, PoolTimeout

from discreet.checkpoint.base import KEEP_LATEST, TwoTierSaver
from discreet.checkpoint.places import strip
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.postgres import CONNECT_TIMEOUT_SECONDS, CONNECTION
from discreet.checkpoint.tiers import PutPlan
from discreet.errors import StorageUnavailableError
from discreet.settings import load_settings


class RedactingSyncSaver(TwoTierSaver):
    """`RedactingSaver` for graphs that run without an event loop."""

    @classmethod
    @contextmanager
    def from_conn_string(cls, dsn: str, policy: CheckpointPolicy | None = None) -> Iterator[Self]:
        """Yield a saver over a pool of its own, of DISCREET_POOL_SIZE connections. Call `setup` once.

        Raises:
            StorageUnavailableError: No connection in ten seconds.
        """
        pool: ConnectionPool[Connection[Any]] = ConnectionPool(
            dsn, min_size=1, max_size=load_settings().pool_size, kwargs=CONNECTION, open=False
        )
        try:
            pool.open(wait=True, timeout=CONNECT_TIMEOUT_SECONDS)
        except PoolTimeout as error:
            pool.close()
            raise StorageUnavailableError from error
        with pool:
            yield cls.from_pool(pool, policy)

    @classmethod
    def from_pool(cls, pool: ConnectionPool[Connection[Any]], policy: CheckpointPolicy | None = None) -> Self:
        """Return a saver over `pool`, which stays the caller's."""
        return cls(PostgresSaver(pool), policy=policy)

    def setup(self) -> None:
        """Create or upgrade the tables of the durable tier, if it has any. Several processes may call it at once."""
        if setup := getattr(self._durable, "setup", None):
            setup()

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that `config` names, or the newest."""
        if held := self._reads.held(config):
            return held
        return self._reads.settle(config, self._durable.get_tuple(strip(config)))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  # LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, newest first. Of finished turns there is the input, the start and the end."""
        listing = self._reads.listing(config, filter=filter, before=before, limit=limit)
        for stored in self._durable.list(config, filter=filter, before=before, limit=limit):
            yield from listing.upto(stored)
        yield from listing.rest()

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002  # relative to LangGraph's last put, which may be in RAM only
    ) -> RunnableConfig:
        """Keep `checkpoint`, and store of it what the policy allows once it may be stored."""
        self._look_up(config)
        plan = self._tiers.plan_put(config, checkpoint, metadata)
        self._store(plan)
        return plan.config

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep a task's writes, and store of them what the policy allows if their checkpoint is stored."""
        self._look_up(config)
        pause = self._tiers.plan_pause(config, writes)
        if call := self._tiers.plan_writes(config, writes, task_id, task_path):
            self._durable.put_writes(*call)
        if pause is not None:
            self._store(pause)

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread from both tiers."""
        self._durable.delete_thread(str(thread_id))
        self._scratch.drop(str(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what these runs left in both tiers."""
        runs = [str(run_id) for run_id in run_ids]
        self._durable.delete_for_runs(runs)
        self._tiers.forget_runs(runs)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread, with its open turn if this process has one."""
        self._durable.copy_thread(str(source_thread_id), str(target_thread_id))
        self._scratch.copy(str(source_thread_id), str(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = KEEP_LATEST) -> None:
        """Delete the history of threads ("keep_latest"), or all of them ("delete")."""
        threads = [str(thread_id) for thread_id in thread_ids]
        self._durable.prune(threads, strategy=strategy)
        self._tiers.forget_history(threads, turns=strategy != KEEP_LATEST)

    def _look_up(self, config: RunnableConfig) -> None:
        if where := self._tiers.unknown(config):
            self._tiers.learn(self._durable.get_tuple(where))

    def _store(self, plan: PutPlan) -> None:
        if plan.durable is not None:
            self._durable.put(*plan.durable)
            for waiting in self._tiers.confirm(plan):
                self._durable.put_writes(*waiting)

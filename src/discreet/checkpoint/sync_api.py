"""The sync API of the saver: the twin of `async_api`, method by method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import iscoroutinefunction
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple

from discreet.checkpoint.base import TwoTierSaver
from discreet.checkpoint.checkpoint_ref import in_run, locate, strip
from discreet.checkpoint.spill import BlockingSpill, Spilled, SpillStore, SyncSpillStore
from discreet.checkpoint.thread_operations import KEEP_LATEST
from discreet.checkpoint.write_plan import PutPlan
from discreet.errors import ConfigurationError


class SyncApi(TwoTierSaver):
    """The methods that LangGraph calls from threads."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that `config` names, or the newest."""
        found = self._reader.held(config)
        if found is None:
            stored = self._durable.get_tuple(strip(config))
            self._rejoin(config, stored)
            found = self._reader.held(config) or self._reader.settle(config, stored)
        if in_run(config):
            self._tiers.begin(config, found)
        return found

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  # LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, newest first. Of finished turns there are the input and the end."""
        listing = self._reader.listing(config, filter=filter, before=before, limit=limit)
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
        self._spill_pause(plan.config)
        return plan.config

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep a task's writes, and store of them what the policy allows if their checkpoint is stored."""
        self._tiers.check_answer(config, writes, task_id)
        self._look_up(config)
        pause = self._tiers.plan_pause(config, writes)
        if call := self._tiers.plan_writes(config, writes, task_id, task_path):
            self._durable.put_writes(*call)
        if pause is not None:
            self._store(pause)
        self._spill_pause(config)

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread from both tiers."""
        self._durable.delete_thread(str(thread_id))
        self._scratch.drop(str(thread_id))
        if spill := self._spill:
            spill.drop([str(thread_id)])

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what these runs left in both tiers."""
        runs = [str(run_id) for run_id in run_ids]
        self._maintenance.delete_for_runs(runs)
        self._tiers.forget_runs(runs)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread, with its open turn if this process has one."""
        self._maintenance.copy_thread(str(source_thread_id), str(target_thread_id))
        self._scratch.copy(str(source_thread_id), str(target_thread_id))
        if (spill := self._spill) and (paused := spill.load(str(source_thread_id))):
            spill.save(str(target_thread_id), Spilled.now(paused.head, paused.payload))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = KEEP_LATEST) -> None:
        """Delete the history of threads ("keep_latest"), or all of them ("delete")."""
        threads = [str(thread_id) for thread_id in thread_ids]
        self._maintenance.prune(threads, strategy=strategy)
        self._tiers.forget_history(threads, turns=strategy != KEEP_LATEST)
        if strategy != KEEP_LATEST and (spill := self._spill):
            spill.drop(threads)

    def _look_up(self, config: RunnableConfig) -> None:
        if where := self._tiers.unknown(config):
            self._tiers.learn(self._durable.get_tuple(where))

    def _store(self, plan: PutPlan) -> None:
        if plan.durable is not None:
            try:
                self._durable.put(*plan.durable)
            except BaseException:  # interrupted is not stored either
                self._tiers.fail(plan)
                raise
            for waiting in self._tiers.confirm(plan):
                self._durable.put_writes(*waiting)
            if pause := self._tiers.replan_pause(plan):
                self._store(pause)
            if plan.closing and self._interrupts.over(plan.config) and (spill := self._spill):
                spill.drop([locate(plan.config)[0]], upto=locate(plan.config)[1].checkpoint_id)

    def _rejoin(self, config: RunnableConfig, stored: CheckpointTuple | None) -> None:
        """Take over a paused turn whose newest state another process has left."""
        if (spill := self._spill) is None or not self._interrupts.may_be_elsewhere(config, stored):
            return
        thread_id, _ = locate(config)
        version = spill.generation(thread_id)
        if version is None or not self._interrupts.is_newer(version, config, stored):
            return
        if (spilled := spill.load(thread_id)) is not None:
            self._interrupts.returning(config, spilled)

    def _spill_pause(self, config: RunnableConfig) -> None:
        """Leave the turn where another process finds it, if it waits for a person now."""
        if (spill := self._spill) is not None and (spilled := self._interrupts.leaving(config)) is not None:
            spill.save(locate(config)[0], spilled)

    @property
    def _spill(self) -> SyncSpillStore | None:
        """The spill store for blocking calls.

        Raises:
            ConfigurationError: It is asynchronous, and the inner saver has no event loop to run it on.
        """
        if self.spill is None or not iscoroutinefunction(self.spill.save):
            return cast("SyncSpillStore | None", self.spill)
        if (loop := getattr(self.inner, "loop", None)) is None:
            raise ConfigurationError(
                "This saver's spill store is asynchronous: await the graph, or use RedactingSyncSaver."
            )
        return BlockingSpill(cast("SpillStore", self.spill), loop)

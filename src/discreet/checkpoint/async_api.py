"""The async API of the saver. It decides nothing: every decision is in `tiers` and `tiered_reader`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from inspect import iscoroutinefunction
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple

from discreet.checkpoint.base import TwoTierSaver
from discreet.checkpoint.checkpoint_ref import in_run, locate, strip
from discreet.checkpoint.spill import Spilled, SpillStore
from discreet.checkpoint.thread_operations import KEEP_LATEST
from discreet.checkpoint.write_plan import PutPlan
from discreet.errors import ConfigurationError


class AsyncApi(TwoTierSaver):
    """The methods that LangGraph awaits."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that `config` names, or the newest."""
        found = self._reader.held(config)
        if found is None:
            stored = await self._durable.aget_tuple(strip(config))
            await self._arejoin(config, stored)
            found = self._reader.held(config) or self._reader.settle(config, stored)
        if in_run(config):
            self._tiers.begin(config, found)
        return found

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  # LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, newest first. Of finished turns there are the input and the end."""
        listing = self._reader.listing(config, filter=filter, before=before, limit=limit)
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
        await self._alook_up(config)
        plan = self._tiers.plan_put(config, checkpoint, metadata)
        await self._astore(plan)
        await self._aspill_pause(plan.config)
        return plan.config

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep a task's writes, and store of them what the policy allows if their checkpoint is stored."""
        self._tiers.check_answer(config, writes, task_id)
        await self._alook_up(config)
        pause = self._tiers.plan_pause(config, writes)
        if call := self._tiers.plan_writes(config, writes, task_id, task_path):
            await self._durable.aput_writes(*call)
        if pause is not None:
            await self._astore(pause)
        await self._aspill_pause(config)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread from both tiers."""
        await self._durable.adelete_thread(str(thread_id))
        self._scratch.drop(str(thread_id))
        if spill := self._aspill:
            await spill.drop([str(thread_id)])

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what these runs left in both tiers."""
        runs = [str(run_id) for run_id in run_ids]
        await self._maintenance.adelete_for_runs(runs)
        self._tiers.forget_runs(runs)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread, with its open turn if this process has one."""
        await self._maintenance.acopy_thread(str(source_thread_id), str(target_thread_id))
        self._scratch.copy(str(source_thread_id), str(target_thread_id))
        if (spill := self._aspill) and (paused := await spill.load(str(source_thread_id))):
            await spill.save(str(target_thread_id), Spilled.now(paused.head, paused.payload))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = KEEP_LATEST) -> None:
        """Delete the history of threads ("keep_latest"), or all of them ("delete")."""
        threads = [str(thread_id) for thread_id in thread_ids]
        await self._maintenance.aprune(threads, strategy=strategy)
        self._tiers.forget_history(threads, turns=strategy != KEEP_LATEST)
        if strategy != KEEP_LATEST and (spill := self._aspill):
            await spill.drop(threads)

    async def _alook_up(self, config: RunnableConfig) -> None:
        if where := self._tiers.unknown(config):
            self._tiers.learn(await self._durable.aget_tuple(where))

    async def _astore(self, plan: PutPlan) -> None:
        if plan.durable is not None:
            try:
                await self._durable.aput(*plan.durable)
            except BaseException:  # cancelled is not stored either
                self._tiers.fail(plan)
                raise
            for waiting in self._tiers.confirm(plan):
                await self._durable.aput_writes(*waiting)
            if pause := self._tiers.replan_pause(plan):
                await self._astore(pause)
            if plan.closing and self._interrupts.over(plan.config) and (spill := self._aspill):
                await spill.drop([locate(plan.config)[0]], upto=locate(plan.config)[1].checkpoint_id)

    async def _arejoin(self, config: RunnableConfig, stored: CheckpointTuple | None) -> None:
        """Take over a paused turn whose newest state another process has left."""
        if (spill := self._aspill) is None or not self._interrupts.may_be_elsewhere(config, stored):
            return
        thread_id, _ = locate(config)
        version = await spill.generation(thread_id)
        if version is None or not self._interrupts.is_newer(version, config, stored):
            return
        if (spilled := await spill.load(thread_id)) is not None:
            self._interrupts.returning(config, spilled)

    async def _aspill_pause(self, config: RunnableConfig) -> None:
        """Leave the turn where another process finds it, if it waits for a person now."""
        if (spill := self._aspill) is not None and (spilled := self._interrupts.leaving(config)) is not None:
            await spill.save(locate(config)[0], spilled)

    @property
    def _aspill(self) -> SpillStore | None:
        """The spill store for awaited calls.

        Raises:
            ConfigurationError: There is one, and it blocks.
        """
        if self.spill is not None and not iscoroutinefunction(self.spill.save):
            raise ConfigurationError(
                "RedactingSyncSaver has a blocking spill store: call the graph's blocking methods."
            )
        return cast("SpillStore | None", self.spill)

"""The async API of the saver. It decides nothing: every decision is in `tiers` and `tiered_reader`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from datetime import UTC, datetime
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple

from discreet.checkpoint.base import TwoTierSaver
from discreet.checkpoint.checkpoint_ref import bare, in_run, locate, strip
from discreet.checkpoint.durable_form import UNFINISHED
from discreet.checkpoint.late_writes import NO_DELETION
from discreet.checkpoint.postgres import AsyncPostgresTier
from discreet.checkpoint.postgres.deletions import Deletions
from discreet.checkpoint.postgres.puts import Loaded
from discreet.checkpoint.pruning import DELETE, KEEP_LATEST
from discreet.checkpoint.run_input import answers_by_id, take_given
from discreet.checkpoint.shown import ThreadsSeen, shown
from discreet.checkpoint.spill import Spilled, SpillStore
from discreet.checkpoint.turn_ends import astore_end
from discreet.checkpoint.unnamed_channels import tell_adopted
from discreet.checkpoint.write_plan import PutPlan
from discreet.errors import ConfigurationError, ThreadDeletedError
from discreet.spans import span


class AsyncApi(TwoTierSaver):
    """The methods that LangGraph awaits."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that `config` names, or the newest."""
        config = self._stored(config, stores=in_run(config))
        by_id = answers_by_id()
        given = take_given(config, self.policy) if in_run(config) else None
        since, at = self._late.last(config), None
        found = self._reader.held(config)
        if found is None:
            stored = await self._durable.aget_tuple(strip(config))
            deleted, at = await self._alast_deletion(config, stored)
            since = max(since, deleted)
            stored = await self._ashown(stored)
            await self._arejoin(config, stored)
            if (stored is None or UNFINISHED in stored.metadata) and self._interrupts.missing_ended(config):
                await self._atake_history(config)
            found = self._reader.held(config) or self._reader.settle(config, stored)
            if found is None and self._reader.may_be_traced(config):
                found = await self._atraced_step(config)
        if in_run(config) and not self._late.is_only_a_look(config):
            if by_id:
                self._reader.refuse_answer(found)
            given = self._tiers.named(found, given)
            self._tiers.note_read(config, found, given)
            taken = self._reader.taking(config, found, given)
            self._tiers.begin(config, found, given)
            await self._aseed(found)
            self._late.begin(config, since, at)
            return taken
        return found

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, newest first. Of finished turns there are the input and the end.

        Without a `config`, or with an empty one, these are of all threads; one that names no thread is a KeyError, as over LangGraph's savers.
        """
        config = self._stored(config, stores=False) if config else None
        if config is not None:
            await self._atake_history(config)
        listing = self._reader.listing(config, filter=filter, before=before, limit=limit)
        seen: ThreadsSeen = {}
        async for stored in self._durable.alist(config, filter=filter, before=before, limit=limit):
            for item in listing.upto(await self._ashown(stored, seen) or stored):
                yield item
        for item in listing.rest():
            yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # relative to LangGraph's last put, which may be in RAM only
    ) -> RunnableConfig:
        """Keep `checkpoint`, and store of it what the policy allows once it may be stored.

        Raises:
            InvalidUserError: The run names a user_id that can't be used.
            InvalidThreadError: The thread_id can't be used.
            SensitiveIdError: The thread_id holds a sensitive value, and the settings refuse such ids; nothing was stored.
        """
        config = self._stored(config, stores=True)
        thread_id, parent = locate(config)
        with span("checkpoint.put", thread_id=thread_id, checkpoint_id=checkpoint["id"], step=metadata.get("step")):
            await self._alook_up(config, updating=metadata.get("source") == "update")
            if self._restores and self._tiers.has_unknown_tags(config, checkpoint):
                self._tiers.note_values(config, await self._values.avalues(locate(config)[0]))
            with self._late.dropped(config):
                self._check_late(config)
                plan = self._tiers.plan_put(config, checkpoint, metadata)
                await self._astore(config, plan)
                await self._aspill_pause(config)
        return bare(thread_id, parent.ns, checkpoint["id"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep a task's writes, and store of them what the policy allows if their checkpoint is stored."""
        config = self._stored(config, stores=True)
        with self._late.dropped(config):
            self._late.check(config)
            self._tiers.check_answer(config, writes, task_id)
            await self._alook_up(config)
            self._check_late(config)
            pause = self._tiers.plan_pause(config, writes)
            if call := self._tiers.plan_writes(config, writes, task_id, task_path):
                await self._awith_values(config, self._durable.aput_writes(*call))
            if pause is not None:
                await self._astore(config, pause)
            await self._aspill_pause(config)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread from both tiers. What runs of it that are under way go on to write is dropped."""
        await self.aprune([thread_id], strategy=DELETE)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what these runs left in both tiers."""
        runs = [str(run_id) for run_id in run_ids]
        self._late.delete_runs(runs)
        await self._maintenance.adelete_for_runs(runs)
        self._tiers.forget_runs(runs)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread, with its open turn if this process has one."""
        source = self._ids.thread_id(source_thread_id, stores=False)
        target = self._ids.thread_id(target_thread_id)
        await self._maintenance.acopy_thread(source, target)
        await self._aobserve([source, target])
        self._scratch.copy(source, target)
        if self._restores and (values := await self._values.avalues(source)):  # the copy has the same placeholders
            await self._values.ahold(target, values, None)
        if (spill := self._aspill) and (paused := await spill.load(source)):
            await spill.save(target, Spilled.now(paused.head, paused.payload))

    async def aprune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = KEEP_LATEST,
        turns: int | None = None,
        before: datetime | None = None,
    ) -> None:
        """Delete the history of threads, or all of them ("delete").

        "keep_latest" keeps the newest checkpoint; with `turns` what belongs to so many of the newest turns, with `before`
        what is not older, with both what is neither too many turns back nor too old. The newest always stays.

        Raises:
            ValueError: There is no such strategy, or the options can't be meant.
            NotImplementedError: A DeltaChannel's value, as LangGraph's own saver stored it, is in what would go. Nothing
                is pruned.
        """
        threads = self._stored_ids(thread_ids)
        deletes = strategy == DELETE
        if deletes:
            self._late.delete(threads)
        options = self._pruning(strategy=strategy, turns=turns, before=before)
        await self._maintenance.aprune(threads, **options)
        if deletes:
            self._late.delete(threads)
            await self._aobserve(threads)
        if deletes or (turns, before) == (None, None):
            self._tiers.forget_history(threads, turns=deletes)
        if deletes and (spill := self._aspill):
            await spill.drop(threads)
        if deletes:
            await self._aforget_values(threads)

    async def _asetup(self, *, guard: bool | None) -> None:
        """Create or upgrade the tables."""
        if isinstance(self._durable, AsyncPostgresTier):
            await self._durable.setup(guard=guard, tell_adopted=partial(tell_adopted, policy=self.policy))
        elif setup := getattr(self._durable, "setup", None):
            await setup()
        await self._maintenance.asetup()
        if spill := self._aspill:
            await spill.setup()

    async def _alast_deletion(
        self, config: RunnableConfig, stored: CheckpointTuple | None
    ) -> tuple[datetime, datetime]:
        """Return when the thread was last deleted, now that `stored` was read, and when that was asked.

        It costs a query for new threads only. The second time is the database's, which a run had not begun before.
        """
        thread_id, place = locate(config)
        if isinstance(stored, Loaded):
            self._late.observe({thread_id: stored.deleted_at})
            return stored.deleted_at or NO_DELETION, stored.read_at or datetime.now(UTC)
        found = await self._aobserve(self._late.names(config) if place.ns == "" else [])
        return found.last or NO_DELETION, found.read_at or datetime.now(UTC)

    async def _aobserve(self, thread_ids: Sequence[str]) -> Deletions:
        """Take note of when these threads were deleted, and return that."""
        if not isinstance(self._durable, AsyncPostgresTier):
            return Deletions()
        found = await self._durable.alast_deletions(thread_ids)
        self._late.observe(found.times)
        return found

    async def _ashown(self, stored: CheckpointTuple | None, seen: ThreadsSeen | None = None) -> CheckpointTuple | None:
        """Return `stored` with the values of its placeholders; those of threads that were `seen` are not asked for again."""
        if not self._is_shown_otherwise(stored):
            return stored
        thread_id, _ = locate(stored.config)
        seen = {} if seen is None else seen
        if thread_id not in seen:
            seen[thread_id] = await self._values.avalues(thread_id)
        return shown(stored, self.policy, seen[thread_id])

    async def _alook_up(self, config: RunnableConfig, *, updating: bool = False) -> None:
        if where := self._tiers.unknown(config, updating=updating):
            found = await self._ashown(await self._durable.aget_tuple(where))
            self._tiers.learn(found, starting=updating)
            await self._aseed(found)

    async def _aseed(self, found: CheckpointTuple | None) -> None:
        """Look up what delta channels hold where another saver has stored the thread."""
        if found is not None and (channels := self._tiers.unseeded(found)):
            history = await self._durable.aget_delta_channel_history(config=strip(found.config), channels=channels)
            self._tiers.seed(found, history)

    async def _astore(self, config: RunnableConfig, plan: PutPlan) -> None:
        if plan.durable is not None:
            try:
                put = partial(self._durable.aput, *self._late.since(plan.durable, config))
                await self._awith_values(config, astore_end(put) if plan.closing else put(), plan)
            except ThreadDeletedError:
                await self._aforget_values([locate(config)[0]])
                raise
            except BaseException as error:  # cancelled is not stored either
                if not self._late.is_late(config):
                    self._tiers.fail(plan, error)
                raise
            if run_id := self._late.deleted_run(config):  # the deletion may have looked before this was there
                await self._maintenance.adelete_for_runs([run_id])
            if self._late.is_late(config):
                await self._aforget_values([locate(config)[0]])
            self._late.check(config)
            for waiting in self._tiers.confirm(plan):
                await self._durable.aput_writes(*waiting)
            if pause := self._tiers.replan_pause(plan):
                await self._astore(config, pause)
            if plan.closes:
                await self._aend_spilled(config, plan)

    async def _awith_values(
        self, config: RunnableConfig, storing: Awaitable[object], plan: PutPlan | None = None
    ) -> None:
        """Store something, and give the vault what its placeholders stand for beside that."""
        if (held := self._tiers.to_hold(config, plan)) is None:
            await storing
            return
        holding = asyncio.create_task(self._values.ahold(locate(config)[0], held.values, held.seconds))
        try:
            await storing  # begins at once: a deletion that came first was looked for just now
        except BaseException:  # cancelled is not stored either
            holding.cancel()
            await asyncio.wait([holding])
            raise
        if await holding:
            self._tiers.note_held(config, held)

    async def _aend_spilled(self, config: RunnableConfig, plan: PutPlan) -> None:
        """Keep a turn that is over in the spill, if such are kept, and take it out that had paused."""
        if self._history_ttl and (spill := self._aspill) and not locate(plan.config)[1].ns:
            ended = self._interrupts.ended(plan.config)
            since = self._late.last_known(config)
            await spill.save(locate(config)[0], ended, ttl_seconds=self._history_ttl, since=since)
        if self._interrupts.over(plan.config) and (spill := self._aspill):
            await spill.drop([locate(plan.config)[0]], upto=locate(plan.config)[1].checkpoint_id)

    async def _aforget_values(self, thread_ids: Sequence[str]) -> None:
        """Have the vault forget the values of threads that are deleted."""
        for thread_id in thread_ids if self._restores else ():
            await self._values.adrop(thread_id)

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

    async def _atraced_step(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a step of a turn that is over from the checkpoint that closed it, the first one after the step."""
        thread_id, place = locate(config)
        closing: CheckpointTuple | None = None
        async for stored in self._durable.alist(bare(thread_id, place.ns, None)):
            if stored.checkpoint["id"] < place.checkpoint_id:
                break
            closing = stored
        return self._reader.traced_step(config, closing)

    async def _atake_history(self, config: RunnableConfig) -> None:
        """Take in the turns of the thread that are over and kept, by whichever process."""
        if self._history_ttl and (spill := self._aspill) is not None:
            self._interrupts.returning_ended(config, await spill.ended(locate(config)[0]))

    async def _aspill_pause(self, config: RunnableConfig) -> None:
        """Leave the turn where another process finds it, if it waits for a person now."""
        if (spill := self._aspill) is not None and (spilled := self._interrupts.leaving(config)) is not None:
            thread_id, _ = locate(config)
            await spill.save(thread_id, spilled, since=self._late.last_known(config))
            await self._aobserve([thread_id])
            try:
                self._check_late(config)
            except ThreadDeletedError:  # whoever deleted the thread may have looked for it before it was there
                await spill.drop([thread_id], upto=spilled.head)
                raise

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

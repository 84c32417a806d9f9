"""The sync API of the saver: the twin of `async_api`, method by method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from discreet.checkpoint.postgres import AsyncPostgresTier, PostgresTier
from discreet.checkpoint.postgres.deletions import Deletions
from discreet.checkpoint.postgres.puts import Loaded
from discreet.checkpoint.pruning import DELETE, KEEP_LATEST
from discreet.checkpoint.run_input import answers_by_id, take_given
from discreet.checkpoint.shown import ThreadsSeen, shown
from discreet.checkpoint.spill import BlockingSpill, Spilled, SpillStore, SyncSpillStore
from discreet.checkpoint.turn_ends import store_end
from discreet.checkpoint.write_plan import PutPlan
from discreet.errors import ConfigurationError, ThreadDeletedError


class SyncApi(TwoTierSaver):
    """The methods that LangGraph calls from threads."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that `config` names, or the newest."""
        config = self._stored(config, stores=in_run(config))
        by_id = answers_by_id()
        given = take_given(config, self.policy) if in_run(config) else None
        since, at = self._late.last(config), None
        found = self._reader.held(config)
        if found is None:
            stored = self._durable.get_tuple(strip(config))
            deleted, at = self._last_deletion(config, stored)
            since = max(since, deleted)
            stored = self._shown(stored)
            self._rejoin(config, stored)
            if (stored is None or UNFINISHED in stored.metadata) and self._interrupts.missing_ended(config):
                self._take_history(config)
            found = self._reader.held(config) or self._reader.settle(config, stored)
            if found is None and self._reader.may_be_traced(config):
                found = self._traced_step(config)
        if in_run(config) and not self._late.is_only_a_look(config):
            if by_id:
                self._reader.refuse_answer(found)
            given = self._tiers.named(found, given)
            self._tiers.note_read(config, found, given)
            taken = self._reader.taking(config, found, given)
            self._tiers.begin(config, found, given)
            self._seed(found)
            self._late.begin(config, since, at)
            return taken
        return found

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, newest first. Of finished turns there are the input and the end.

        Without a `config`, or with an empty one, these are of all threads; one that names no thread is a KeyError, as over LangGraph's savers.
        """
        config = self._stored(config, stores=False) if config else None
        if config is not None:
            self._take_history(config)
        listing = self._reader.listing(config, filter=filter, before=before, limit=limit)
        seen: ThreadsSeen = {}
        for stored in self._durable.list(config, filter=filter, before=before, limit=limit):
            yield from listing.upto(self._shown(stored, seen) or stored)
        yield from listing.rest()

    def put(
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
        self._look_up(config, updating=metadata.get("source") == "update")
        if self._restores and self._tiers.has_unknown_tags(config, checkpoint):
            self._tiers.note_values(config, self._values.values(locate(config)[0]))
        with self._late.dropped(config):
            self._check_late(config)
            plan = self._tiers.plan_put(config, checkpoint, metadata)
            self._store(config, plan)
            self._spill_pause(config)
        thread_id, parent = locate(config)
        return bare(thread_id, parent.ns, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep a task's writes, and store of them what the policy allows if their checkpoint is stored."""
        config = self._stored(config, stores=True)
        with self._late.dropped(config):
            self._late.check(config)
            self._tiers.check_answer(config, writes, task_id)
            self._look_up(config)
            self._check_late(config)
            pause = self._tiers.plan_pause(config, writes)
            if call := self._tiers.plan_writes(config, writes, task_id, task_path):
                self._durable.put_writes(*call)
                self._hold_values(config)
            if pause is not None:
                self._store(config, pause)
            self._spill_pause(config)

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread from both tiers. What runs of it that are under way go on to write is dropped."""
        self.prune([thread_id], strategy=DELETE)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what these runs left in both tiers."""
        runs = [str(run_id) for run_id in run_ids]
        self._late.delete_runs(runs)
        self._maintenance.delete_for_runs(runs)
        self._tiers.forget_runs(runs)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread, with its open turn if this process has one."""
        source = self._ids.thread_id(source_thread_id, stores=False)
        target = self._ids.thread_id(target_thread_id)
        self._maintenance.copy_thread(source, target)
        self._observe([source, target])
        self._scratch.copy(source, target)
        if self._restores and (values := self._values.values(source)):  # the copy has the same placeholders
            self._values.hold(target, values, None)
        if (spill := self._spill) and (paused := spill.load(source)):
            spill.save(target, Spilled.now(paused.head, paused.payload))

    def prune(
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
        self._maintenance.prune(threads, **options)
        if deletes:
            self._late.delete(threads)
            self._observe(threads)
        if deletes or (turns, before) == (None, None):
            self._tiers.forget_history(threads, turns=deletes)
        if deletes and (spill := self._spill):
            spill.drop(threads)
        if deletes:
            self._forget_values(threads)

    def _last_deletion(self, config: RunnableConfig, stored: CheckpointTuple | None) -> tuple[datetime, datetime]:
        """Return when the thread was last deleted, now that `stored` was read, and when that was asked.

        It costs a query for new threads only. The second time is the database's, which a run had not begun before.
        """
        thread_id, place = locate(config)
        if isinstance(stored, Loaded):
            self._late.observe({thread_id: stored.deleted_at})
            return stored.deleted_at or NO_DELETION, stored.read_at or datetime.now(UTC)
        found = self._observe(self._late.names(config) if place.ns == "" else [])
        return found.last or NO_DELETION, found.read_at or datetime.now(UTC)

    def _observe(self, thread_ids: Sequence[str]) -> Deletions:
        """Take note of when these threads were deleted, and return that."""
        if not isinstance(self._durable, (AsyncPostgresTier, PostgresTier)):
            return Deletions()
        found = self._durable.last_deletions(thread_ids)
        self._late.observe(found.times)
        return found

    def _shown(self, stored: CheckpointTuple | None, seen: ThreadsSeen | None = None) -> CheckpointTuple | None:
        """Return `stored` with the values of its placeholders; those of threads that were `seen` are not asked for again."""
        if not self._is_shown_otherwise(stored):
            return stored
        thread_id, _ = locate(stored.config)
        seen = {} if seen is None else seen
        if thread_id not in seen:
            seen[thread_id] = self._values.values(thread_id)
        return shown(stored, self.policy, seen[thread_id])

    def _look_up(self, config: RunnableConfig, *, updating: bool = False) -> None:
        if where := self._tiers.unknown(config, updating=updating):
            found = self._shown(self._durable.get_tuple(where))
            self._tiers.learn(found, starting=updating)
            self._seed(found)

    def _seed(self, found: CheckpointTuple | None) -> None:
        """Look up what delta channels hold where another saver has stored the thread."""
        if found is not None and (channels := self._tiers.unseeded(found)):
            history = self._durable.get_delta_channel_history(config=strip(found.config), channels=channels)
            self._tiers.seed(found, history)

    def _store(self, config: RunnableConfig, plan: PutPlan) -> None:
        if plan.durable is not None:
            try:
                put = partial(self._durable.put, *self._late.since(plan.durable, config))
                _ = store_end(put) if plan.closing else put()
                self._hold_values(config, plan)
            except ThreadDeletedError:
                self._forget_values([locate(config)[0]])
                raise
            except BaseException as error:  # interrupted is not stored either
                if not self._late.is_late(config):
                    self._tiers.fail(plan, error)
                raise
            if run_id := self._late.deleted_run(config):  # the deletion may have looked before this was there
                self._maintenance.delete_for_runs([run_id])
            if self._late.is_late(config):
                self._forget_values([locate(config)[0]])
            self._late.check(config)
            for waiting in self._tiers.confirm(plan):
                self._durable.put_writes(*waiting)
            if pause := self._tiers.replan_pause(plan):
                self._store(config, pause)
            if plan.closes:
                self._end_spilled(config, plan)

    def _hold_values(self, config: RunnableConfig, plan: PutPlan | None = None) -> None:
        """Give the vault what the placeholders of something stand for that was stored."""
        held = self._tiers.to_hold(config, plan)
        if held is not None and self._values.hold(locate(config)[0], held.values, held.seconds):
            self._tiers.note_held(config, held)

    def _end_spilled(self, config: RunnableConfig, plan: PutPlan) -> None:
        """Keep a turn that is over in the spill, if such are kept, and take it out that had paused."""
        if self._history_ttl and (spill := self._spill) and not locate(plan.config)[1].ns:
            ended = self._interrupts.ended(plan.config)
            since = self._late.last_known(config)
            spill.save(locate(config)[0], ended, ttl_seconds=self._history_ttl, since=since)
        if self._interrupts.over(plan.config) and (spill := self._spill):
            spill.drop([locate(plan.config)[0]], upto=locate(plan.config)[1].checkpoint_id)

    def _forget_values(self, thread_ids: Sequence[str]) -> None:
        """Have the vault forget the values of threads that are deleted."""
        for thread_id in thread_ids if self._restores else ():
            self._values.drop(thread_id)

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

    def _traced_step(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a step of a turn that is over from the checkpoint that closed it, the first one after the step."""
        thread_id, place = locate(config)
        closing: CheckpointTuple | None = None
        for stored in self._durable.list(bare(thread_id, place.ns, None)):
            if stored.checkpoint["id"] < place.checkpoint_id:
                break
            closing = stored
        return self._reader.traced_step(config, closing)

    def _take_history(self, config: RunnableConfig) -> None:
        """Take in the turns of the thread that are over and kept, by whichever process."""
        if self._history_ttl and (spill := self._spill) is not None:
            self._interrupts.returning_ended(config, spill.ended(locate(config)[0]))

    def _spill_pause(self, config: RunnableConfig) -> None:
        """Leave the turn where another process finds it, if it waits for a person now."""
        if (spill := self._spill) is not None and (spilled := self._interrupts.leaving(config)) is not None:
            thread_id, _ = locate(config)
            spill.save(thread_id, spilled, since=self._late.last_known(config))
            self._observe([thread_id])
            try:
                self._check_late(config)
            except ThreadDeletedError:  # whoever deleted the thread may have looked for it before it was there
                spill.drop([thread_id], upto=spilled.head)
                raise

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

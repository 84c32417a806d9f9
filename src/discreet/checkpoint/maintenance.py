"""Delete runs, copy and prune threads, over savers that lack it: LangGraph's in-memory and SQLite ones."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from discreet.checkpoint import thread_operations
from discreet.checkpoint.postgres import AsyncPostgresTier, PostgresTier
from discreet.checkpoint.pruning import Pruning
from discreet.checkpoint.thread_operations import Steps, row
from discreet.checkpoint.tripwire import TripwireSerializer


class Maintenance:
    """What a server needs to look after the threads of `saver`: methods of its class, or those of `thread_operations`.

    Those of `thread_operations` keep each other out, but nothing else: see there what may not run meanwhile.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        """Work on the rows of `saver`, through its tripwire or without."""
        self._saver = saver
        # Rows are moved as they are. One that the tripwire refuses is older than it, and no reason to keep its thread.
        self._rows = copy.copy(saver)
        if isinstance(saver.serde, TripwireSerializer):
            self._rows.serde = saver.serde.inner
        self._is_ours = isinstance(saver, (AsyncPostgresTier, PostgresTier))
        self._lock = threading.Lock()
        self._async_lock = asyncio.Lock()

    def setup(self) -> None:
        """Put back what a process has left in the middle of a move. Call it while no other process moves anything."""
        if not (self._has("delete_for_runs") and self._has("prune")):
            self._run(thread_operations.recover())

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of these runs, and their writes. A checkpoint whose parent is gone has none."""
        if self._has("delete_for_runs"):
            self._saver.delete_for_runs(run_ids)
        else:
            self._run(thread_operations.delete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy the checkpoints and writes of all namespaces. What the target already has stays as it is."""
        if self._has("copy_thread"):
            self._saver.copy_thread(source_thread_id, target_thread_id)
        else:
            self._run(thread_operations.copy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], **options: Any) -> None:
        """Delete of threads what `options` say: the fields of `Pruning`.

        Raises:
            ValueError: They can't be meant.
            NotImplementedError: See `Pruning.gone`. Nothing is pruned.
        """
        if self._prunes("prune", options):
            self._saver.prune(thread_ids, **self._known(options))
        else:
            self._run(thread_operations.prune(thread_ids, Pruning(**options)))

    async def asetup(self) -> None:
        """See `setup`."""
        if not (self._has("adelete_for_runs") and self._has("aprune")):
            await self._arun(thread_operations.recover())

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """See `delete_for_runs`."""
        if self._has("adelete_for_runs"):
            await self._saver.adelete_for_runs(run_ids)
        else:
            await self._arun(thread_operations.delete_for_runs(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """See `copy_thread`."""
        if self._has("acopy_thread"):
            await self._saver.acopy_thread(source_thread_id, target_thread_id)
        else:
            await self._arun(thread_operations.copy_thread(source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], **options: Any) -> None:
        """See `prune`."""
        if self._prunes("aprune", options):
            await self._saver.aprune(thread_ids, **self._known(options))
        else:
            await self._arun(thread_operations.prune(thread_ids, Pruning(**options)))

    def _prunes(self, method: str, options: Mapping[str, Any]) -> bool:
        """Return whether the saver's own method can do it: LangGraph's knows strategies only."""
        plain = all(options.get(name) is None for name in ("turns", "before"))
        return self._has(method) and (self._is_ours or plain)

    def _known(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in options.items() if self._is_ours or name == "strategy"}

    def _has(self, method: str) -> bool:
        return getattr(type(self._saver), method) is not getattr(BaseCheckpointSaver, method)

    def _run(self, steps: Steps) -> None:
        """Take `steps`, one call after the other. A listing is read to its end first: savers hold a lock until then."""
        answer: Any = None
        with self._lock:
            while True:
                try:
                    method, args, options = steps.send(answer)
                except StopIteration:
                    return
                answer = getattr(self._rows, method)(*args, **options)
                if method == "list":
                    answer = [row(item) for item in answer]

    async def _arun(self, steps: Steps) -> None:
        answer: Any = None
        async with self._async_lock:
            while True:
                try:
                    method, args, options = steps.send(answer)
                except StopIteration:
                    return
                called = getattr(self._rows, f"a{method}")(*args, **options)
                answer = [row(item) async for item in called] if method == "list" else await called

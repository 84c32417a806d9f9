"""The LangGraph store over our own tables."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from langgraph.store.base import BaseStore, GetOp, Op, PutOp, Result, TTLConfig

from discreet.access.actor import Actor, current_actor
from discreet.access.epochs import Beginning, current_beginning
from discreet.errors import DiscreetError, ProviderError, StorageUnavailableError
from discreet.ports import TextRedactor
from discreet.storage.database.batching import Batcher
from discreet.storage.store.preparing import Prepared, Preparer
from discreet.storage.store.running import StoreRunner
from discreet.storage.store.sweeping import Sweeper, sweep_expired
from discreet.storage.store.texts import WHOLE_VALUE
from discreet.storage.store.writes import Put as StoredPut

SWEEP_MINUTES = 5.0
"""How often expired items are deleted unless the configuration says so. They are invisible from the moment they expire."""


@dataclass(frozen=True)
class Batch:
    """What one caller asks for."""

    ops: Sequence[Op]
    began: Beginning | None
    """Under what the turn began that this is done in, if it is in one."""
    actor: Actor
    """Who asks."""


class DiscreetStore(BaseStore):
    """A LangGraph store whose items are redacted, sealed where there is a key, and found by meaning and by words.

    Blocking methods are for other threads than that of the event loop. Calls of one round of the loop that read and
    write by key alone are served together; all others run side by side, each on a connection of the pool.

    Raises, on any operation, and then nothing of its batch is written:
        InvalidNamespaceError: A label is empty, too long, or holds a period or a control character.
        InvalidRecordError: A label or a key holds a sensitive value, or a value is no JSON.
        InvalidFilterError: A filter has an operator that nobody knows.
        ProviderError: The embedding model failed.
        StorageError: The database failed.
        EncryptionError: An item is sealed, and its key is not known.

    Example:
        >>> from discreet.storage import open_storage
        >>> async def remember(dsn: str) -> str:
        ...     async with open_storage(dsn) as storage:
        ...         await storage.store.aput(("notes", "user-7"), "1", {"text": "Two parrots, write to ann@example.com"})
        ...         [found] = await storage.store.asearch(("notes", "user-7"), query="Which birds do I have?")
        ...         return found.value["text"]
    """

    __slots__ = ("_loop", "_merger", "_preparer", "_redactor", "_runner", "_sweeper", "ttl_config")

    supports_ttl = True

    def __init__(
        self,
        runner: StoreRunner,
        *,
        redactor: TextRedactor,
        fields: Sequence[str] = (WHOLE_VALUE,),
        ttl: TTLConfig | None = None,
    ) -> None:
        """Execute with `runner` on the running event loop.

        Args:
            runner: What reaches the database.
            redactor: Of values, filters and questions.
            fields: Paths of the texts that an item is found by where a put does not say; by default the whole value.
            ttl: How items expire. `omit_expired` is always on.
        """
        self.ttl_config = ttl
        self._runner = runner
        self._redactor = redactor
        self._preparer = Preparer(redactor=redactor, fields=fields, keys=runner.rules.keys)
        self._merger: Batcher[Batch, list[Result]] = Batcher(self._serve)
        self._loop = asyncio.get_running_loop()
        self._sweeper = Sweeper(self.sweep_ttl)

    def configured(self, *, fields: Sequence[str] = (WHOLE_VALUE,), ttl: TTLConfig | None = None) -> DiscreetStore:
        """Return a store of the same items with other defaults for what is put through it."""
        return DiscreetStore(self._runner, redactor=self._redactor, fields=fields, ttl=ttl)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `abatch` does, from another thread than that of the event loop.

        Raises:
            InvalidStateError: Called on the event loop's own thread, which would wait for itself.
        """
        try:
            on_loop = asyncio.get_running_loop() is self._loop
        except RuntimeError:  # this thread runs no event loop
            on_loop = False
        if on_loop:
            raise asyncio.InvalidStateError(
                "A blocking method of the store was called on its event loop. Await the one with an a before its name."
            )
        return asyncio.run_coroutine_threadsafe(self.abatch(ops), self._loop).result()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Return the result of each of `ops`, in their order.

        Reads see what was there before. The writes are one transaction; of several puts of one item the last counts.
        """
        batch = Batch(list(ops), current_beginning(), current_actor())
        if all(isinstance(op, (GetOp, PutOp)) for op in batch.ops):
            return await self._merger.call(batch)
        [answer] = await self._serve([batch])
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def take_over(
        self, puts: Sequence[tuple[PutOp, datetime, datetime]], *, dry_run: bool = False
    ) -> list[bool | Exception]:
        """Put items there that come from another store, each with when it was made and last changed there.

        One that is there stays as it is: False. One that can't be put there: why not. All others are one transaction.

        Raises:
            UserErasedError: Somebody was erased since the work began whose items these are; nothing was written.
            ProviderError: The embedding model failed; nothing was written.
            StorageError: Nothing was written.
        """
        batches = [Batch([put], current_beginning(), current_actor()) for put, _, _ in puts]
        prepared = await asyncio.to_thread(self._prepared, batches)
        times = [(created_at, updated_at) for _, created_at, updated_at in puts]
        ready = {
            n: replace(op, written_at=written_at)
            for n, (ops, written_at) in enumerate(zip(prepared, times, strict=True))
            if not isinstance(ops, Exception)
            for op in ops
            if isinstance(op, StoredPut)
        }
        asked = [GetOp(put.namespace, put.key, refresh_ttl=False) for n, (put, _, _) in enumerate(puts) if n in ready]
        found = await self._runner.run(asked)
        known = {(op.user_key, op.item_key) for op, item in zip(ready.values(), found, strict=True) if item is not None}
        answers: list[bool | Exception] = []
        new: list[StoredPut] = []
        for n, ops in enumerate(prepared):
            if isinstance(ops, Exception):
                answers.append(ops)
                continue
            answers.append((key := (ready[n].user_key, ready[n].item_key)) not in known)
            if answers[-1]:
                known.add(key)
                new.append(ready[n])
        if new and not dry_run:
            await self._runner.run(new)
        return answers

    async def sweep_ttl(self) -> int:
        """Delete expired items; return how many. It is left to others where no role of this process sees all users.

        Raises:
            StorageError: The database failed.
        """
        if self._runner.works is None:
            return 0
        return await sweep_expired(self._runner.works, self._runner.locks, self._runner.rules.keys)

    async def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> asyncio.Task[None]:
        """Delete expired items every so often from now on, by default as `ttl` says; return the task that does it."""
        configured = (self.ttl_config or {}).get("sweep_interval_minutes")
        return self._sweeper.start(60 * float(sweep_interval_minutes or configured or SWEEP_MINUTES))

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop that task; False if it took longer than `timeout` seconds."""
        return await self._sweeper.stop(timeout)

    async def _serve(self, batches: Sequence[Batch]) -> list[list[Result] | Exception]:
        """Serve several batches as one; if that fails, each on its own, so that none pays for another."""
        if any(isinstance(op, PutOp) for batch in batches for op in batch.ops):
            prepared = await asyncio.to_thread(self._prepared, batches)  # redacting a value may take long
        else:
            prepared = self._prepared(batches)
        good = [ops for ops in prepared if not isinstance(ops, Exception)]
        try:
            results = iter(await self._runner.run([op for ops in good for op in ops]))
        except (StorageUnavailableError, ProviderError):
            raise  # the same would happen to each
        except DiscreetError as error:
            if len(batches) == 1:
                return [error]
            alone = await asyncio.gather(*(self._serve([batch]) for batch in batches))
            return [answer for answers in alone for answer in answers]
        return [ops if isinstance(ops, Exception) else [next(results) for _ in ops] for ops in prepared]

    def _prepared(self, batches: Sequence[Batch]) -> list[list[Prepared] | Exception]:
        prepared: list[list[Prepared] | Exception] = []
        for batch in batches:
            try:
                prepared.append([self._preparer.prepare(op, batch.began, batch.actor) for op in batch.ops])
            except Exception as error:  # noqa: BLE001  # what is wrong with one caller's operations is not the others'
                prepared.append(error)
        return prepared

"""The durable tier over LangGraph's async saver. It decides nothing: its neighbours do, for both faces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection, Error
from psycopg.errors import FeatureNotSupported, UniqueViolation
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool
from tenacity import AsyncRetrying

from discreet.access.user_keys import user_keys_of
from discreet.checkpoint.checkpoint_ref import bare
from discreet.checkpoint.postgres import copying, deletions, prunes, reading, schema
from discreet.checkpoint.postgres.connecting import check_autocommit
from discreet.checkpoint.postgres.cursors import AsyncTableCursor, table_cursor
from discreet.checkpoint.postgres.failures import check_copied, is_worth_another_attempt, retry_options, translate
from discreet.checkpoint.postgres.foreign_channels import foreign_channels, is_adoption
from discreet.checkpoint.postgres.message_rows import take_rows
from discreet.checkpoint.postgres.names import Tables
from discreet.checkpoint.postgres.pages import Pages
from discreet.checkpoint.postgres.puts import MESSAGE_CHANNELS, MessageRows, Steps
from discreet.checkpoint.postgres.setting_up import look, set_up
from discreet.checkpoint.postgres.statements import LISTED, Statement
from discreet.checkpoint.pruning import KEEP_LATEST, Pruning, as_list, is_root
from discreet.errors import ConfigurationError
from discreet.leases import check_pooler, lease, note_opened

T = TypeVar("T")


class AsyncPostgresTier(AsyncPostgresSaver):
    """Upstream's saver with one row a message, complete, patient, and without its lock where a pool makes it needless.

    All that it raises of the database's is a `StorageError`; a `StorageUnavailableError` after up to five seconds of
    retries, and as long as a pool waits. Every operation may be repeated.
    """

    def __init__(
        self,
        saver: AsyncPostgresSaver,
        *,
        message_channels: Sequence[str] = MESSAGE_CHANNELS,
        tools: Collection[str] = (),
        schema: str | None = None,
    ) -> None:
        """Work on the connections of `saver`. Channels of `message_channels` are stored as one row a message.

        `schema`: where the tables are. Default: where LangGraph's are in sight, else where it would create them.

        Raises:
            ConfigurationError: A single connection is not in autocommit, so that nothing would be kept.
        """
        super().__init__(saver.conn, saver.pipe, saver.serde)
        check_autocommit(saver.conn)
        note_opened(saver.conn)
        self.lock = saver.lock
        self._tables = Tables(schema)
        self._rows = MessageRows(message_channels, user_keys_of(saver.conn), tools)
        self._retrying = AsyncRetrying(**retry_options(saver.conn))

    async def setup(
        self, *, guard: bool | None = None, tell_adopted: Callable[[Sequence[str]], object] | None = None
    ) -> None:
        """Create or upgrade the tables, one process at a time. Looks at the database every time.

        `guard`: constraints by which PostgreSQL itself refuses tool messages, system messages and `Send`. By default
        they come with tables that this call creates, and tables that are there stay as they are. True adds them there
        too: rows from before stay, and a stock saver that shares the tables can't store such values any more. False
        takes them away.

        `tell_adopted`: called with the channels of threads that another saver has stored, where ours begins to use its tables.

        A role that owns nothing may call it too, where nothing is missing.

        Raises:
            MigrationError: Another process held the lock for a minute, or something is missing that this role may not
                create.
            ConfigurationError: There are several sets of tables in sight, and no `schema` says which is meant.
        """
        await self._translated(partial(self._set_up, guard, tell_adopted))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that `config` names, or the newest."""
        found = await self._run(partial(self._read, reading.one(config)))
        return found[0] if found else None

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, newest first."""
        pages = Pages(before, limit)
        while not pages.done:
            for item in pages.take(await self._run(partial(self._page, config, filter, pages.ask()))):
                yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint with its blobs and messages, all or nothing."""
        put = partial(self._rows.put, self.serde, config, checkpoint, metadata, new_versions)
        return await self._run(partial(self._drive, put))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store a task's writes, all or none."""
        put = partial(self._rows.put_writes, self.serde, config, writes, task_id, task_path)
        await self._run(partial(self._drive, put))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread."""
        await self._run(partial(self._drive, partial(deletions.delete_threads, [thread_id])))
        self._rows.cache.forget([str(thread_id)])

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of these runs, their writes, and the blobs and messages that nothing else uses."""
        threads = await self._run(partial(self._drive, partial(deletions.delete_for_runs, run_ids)))
        self._rows.cache.forget(threads)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with its history and its writes.

        Raises:
            CheckpointError: The target has other messages of its own.
        """
        copy = partial(copying.copy_thread, source_thread_id, target_thread_id)
        check_copied(copied=await self._run(partial(self._drive, copy)))

    async def aprune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = KEEP_LATEST,
        turns: int | None = None,
        before: datetime | None = None,
        keeps: Callable[[str], bool] = is_root,
    ) -> None:
        """Delete of threads what the options say, and what nothing uses then, in one statement; see `Pruning`.

        Raises:
            NotImplementedError: See `Pruning.gone`. Nothing is deleted.
        """
        pruning = Pruning(strategy=strategy, turns=turns, before=before, keeps=keeps)
        threads = as_list(thread_ids)
        await self._run(partial(self._drive, partial(prunes.prune, threads, pruning)))
        self._rows.cache.forget(threads)

    async def alast_deletions(self, thread_ids: Sequence[str]) -> deletions.Deletions:
        """Return when these threads were last deleted, those that were not long ago."""
        found = deletions.Deletions()
        for thread_id in thread_ids:  # one by one: on a cluster they are on different nodes
            found.add(thread_id, await self._run(partial(self._execute, deletions.last_deletion(thread_id))))
        return found

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what a delta channel's value is rebuilt from. Upstream's shortcut doesn't know of message rows."""
        by_row = [channel for channel in channels if channel in self._rows.channels]
        others = [channel for channel in channels if channel not in by_row]
        found: dict[str, DeltaChannelHistory] = {}
        if by_row:
            found.update(await BaseCheckpointSaver.aget_delta_channel_history(self, config=config, channels=by_row))
        if others:
            history = partial(super().aget_delta_channel_history, config=config, channels=others)
            found.update(await self._run(history))
        return found

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Do what `adelete_for_runs` does, from another thread."""
        self._from_thread(partial(self.adelete_for_runs, run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Do what `acopy_thread` does, from another thread."""
        self._from_thread(partial(self.acopy_thread, source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], **options: Any) -> None:
        """Do what `aprune` does, from another thread."""
        self._from_thread(partial(self.aprune, thread_ids, **options))

    def last_deletions(self, thread_ids: Sequence[str]) -> deletions.Deletions:
        """Do what `alast_deletions` does, from another thread."""
        return self._from_thread(partial(self.alast_deletions, thread_ids))

    def forget_rows(self) -> None:
        """Forget which rows the newest checkpoints have: messages are asked for anew."""
        self._rows.cache.clear()

    def _from_thread(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        try:
            blocks = asyncio.get_running_loop() is self.loop
        except RuntimeError:
            blocks = False
        if blocks:
            raise asyncio.InvalidStateError(
                "Call the async method from the event loop; this one would wait for itself."
            )
        return asyncio.run_coroutine_threadsafe(work(), self.loop).result()

    async def _read(self, asked: reading.Question) -> list[CheckpointTuple]:
        async with self._cursor() as cur:
            rows = await (await cur.execute(*asked, binary=True)).fetchall()
            for sends in reading.sent(rows):
                reading.add_sent(self, rows, sends, await (await cur.execute(*sends, binary=True)).fetchall())
        return [await self._load(row) for row in rows]

    async def _load(self, row: DictRow) -> CheckpointTuple:
        messages, times = take_rows(row), (row.pop("deleted_at"), row.pop("read_at"), reading.paths(row))
        if row["pending_writes"]:  # they may be large: others go on while they are decoded
            return self._rows.load(await asyncio.to_thread(reading.loaded, self.serde, row), messages, *times)
        return self._rows.load(reading.loaded(self.serde, row), messages, *times)

    async def _run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return what `work` returns, after more attempts if need be."""
        return await self._translated(partial(self._patiently, work))

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        try:
            return await work()  # first without the retrier, which costs 0.1 ms
        except Error as error:
            if not is_worth_another_attempt(error, on=self.conn):
                raise
        return await self._retrying(work)

    async def _translated(self, work: Callable[[], Awaitable[T]]) -> T:
        try:
            return await work()
        except Error as error:
            failure, cause = translate(error)
        raise failure from cause  # out here, where the driver's error is no longer being handled, nor chained

    async def _page(
        self, config: RunnableConfig | None, metadata: dict[str, Any] | None, asked: dict[str, Any]
    ) -> list[CheckpointTuple]:
        """Return a page of a listing; of a listing of all threads on a cluster, one checkpoint after the other."""
        try:
            return await self._read(reading.listed(config, metadata, **asked))
        except FeatureNotSupported:
            if config is not None:
                raise
        where, values = reading.condition(None, metadata, asked["before"])
        async with self._cursor() as cur:
            places = await (await cur.execute(LISTED.format(where=where), [*values, asked["limit"]])).fetchall()
        return [item for place in places for item in await self._read(reading.one(bare(**place)))]

    async def _drive(self, start: Callable[[], Steps[T]]) -> T:
        steps = start()
        try:
            statement = next(steps)
            while True:
                try:
                    answer = await self._execute(statement)
                except UniqueViolation:
                    answer = None
                statement = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what `Steps` says it returns

    async def _execute(self, statement: Statement) -> list[DictRow]:
        # A connection in pipeline mode commits when it is synced, at the end; one that isn't, with the statement.
        async with self._cursor(pipeline=self.pipe is not None) as cur:
            if statement.of_all and cur.is_apart:
                return []
            await cur.execute(statement.sql, statement.params)
            return await cur.fetchall() if statement.returns else []

    async def tables(self) -> frozenset[str]:
        """Return which tables of a checkpointer there are; none where it has not been set up.

        Raises:
            ConfigurationError: Several sets are in sight, and no `schema` says which is meant.
        """
        return (await self._run(self._look)).tables

    async def are_there(self) -> bool:
        """Tell whether a checkpointer of ours has its tables in this database.

        Raises:
            ConfigurationError: Several sets are in sight and no `schema` says which is meant, or the one that it names has none.
        """
        if schema.THREADS in await self.tables():
            return True
        if self._tables.given is None:
            return False
        raise ConfigurationError(
            f"The schema {self._tables.given!r} has no tables of our checkpointer: name the one that it has as schema=, or none."
        )

    async def _look(self) -> schema.Found:
        async with self._cursor() as cursor:
            return await look(cursor)

    async def _set_up(self, guard: bool | None, tell_adopted: Callable[[Sequence[str]], object] | None) -> None:
        there = await self._look()
        await set_up(self.conn, there.schema, there, partial(schema.missing, guard=guard))
        await self._drive(deletions.sweep)
        self._rows.shared = None
        if tell_adopted is not None and is_adoption(there):
            async with self._cursor() as cursor:
                tell_adopted(await foreign_channels(cursor))

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncTableCursor]:
        """Yield a cursor in the schema of the tables; all statements, upstream's too, go through it."""
        async with self._connection() as conn, await table_cursor(conn, self._tables) as cur:
            if pipeline and self.pipe:
                try:
                    yield cur
                finally:
                    await self.pipe.sync()
            elif pipeline:
                async with conn.pipeline() if self.supports_pipeline else conn.transaction():
                    yield cur
            else:
                yield cur

    def _connection(self) -> AbstractAsyncContextManager[AsyncConnection[DictRow]]:
        # Upstream takes one lock even over a pool, where each call has a connection of its own. Without it
        # 1,102 puts a second instead of 108, with 10 connections and 40 threads.
        return lease(self.conn) if isinstance(self.conn, AsyncConnectionPool) else self._only_connection(self.conn)

    @asynccontextmanager
    async def _only_connection(self, conn: AsyncConnection[DictRow]) -> AsyncIterator[AsyncConnection[DictRow]]:
        async with self.lock:
            await check_pooler(conn)
            yield conn

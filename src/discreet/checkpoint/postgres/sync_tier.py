"""The durable tier over LangGraph's sync saver: the twin of `async_tier`, method by method."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
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
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg import Connection, Error
from psycopg.errors import FeatureNotSupported, UniqueViolation
from psycopg.rows import DictRow
from psycopg_pool import ConnectionPool
from tenacity import Retrying

from discreet.access.user_keys import user_keys_of
from discreet.checkpoint.checkpoint_ref import bare
from discreet.checkpoint.postgres import copying, deletions, prunes, reading, schema
from discreet.checkpoint.postgres.connecting import check_autocommit
from discreet.checkpoint.postgres.cursors import TableCursor, sync_table_cursor
from discreet.checkpoint.postgres.failures import check_copied, is_worth_another_attempt, retry_options, translate
from discreet.checkpoint.postgres.foreign_channels import is_adoption, sync_foreign_channels
from discreet.checkpoint.postgres.message_rows import take_rows
from discreet.checkpoint.postgres.names import Tables
from discreet.checkpoint.postgres.pages import Pages
from discreet.checkpoint.postgres.puts import MESSAGE_CHANNELS, MessageRows, Steps
from discreet.checkpoint.postgres.setting_up import sync_look, sync_set_up
from discreet.checkpoint.postgres.statements import LISTED, Statement
from discreet.checkpoint.pruning import KEEP_LATEST, Pruning, as_list, is_root
from discreet.leases import note_opened, sync_check_pooler, sync_lease

T = TypeVar("T")


class PostgresTier(PostgresSaver):
    """`AsyncPostgresTier` for threads."""

    def __init__(
        self,
        saver: PostgresSaver,
        *,
        message_channels: Sequence[str] = MESSAGE_CHANNELS,
        tools: Collection[str] = (),
        schema: str | None = None,
    ) -> None:
        """Work on the connections of `saver`; see `AsyncPostgresTier`."""
        super().__init__(saver.conn, saver.pipe, saver.serde)
        check_autocommit(saver.conn)
        note_opened(saver.conn)
        self.lock = saver.lock
        self._tables = Tables(schema)
        self._rows = MessageRows(message_channels, user_keys_of(saver.conn), tools)
        self._retrying = Retrying(**retry_options(saver.conn))

    def setup(
        self, *, guard: bool | None = None, tell_adopted: Callable[[Sequence[str]], object] | None = None
    ) -> None:
        """Create or upgrade the tables, one process at a time; see `AsyncPostgresTier.setup`."""
        self._translated(partial(self._set_up, guard, tell_adopted))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that `config` names, or the newest."""
        found = self._run(partial(self._read, reading.one(config)))
        return found[0] if found else None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, newest first."""
        pages = Pages(before, limit)
        while not pages.done:
            yield from pages.take(self._run(partial(self._page, config, filter, pages.ask())))

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint with its blobs and messages, all or nothing."""
        put = partial(self._rows.put, self.serde, config, checkpoint, metadata, new_versions)
        return self._run(partial(self._drive, put))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store a task's writes, all or none."""
        put = partial(self._rows.put_writes, self.serde, config, writes, task_id, task_path)
        self._run(partial(self._drive, put))

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread."""
        self._run(partial(self._drive, partial(deletions.delete_threads, [thread_id])))
        self._rows.cache.forget([str(thread_id)])

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of these runs, their writes, and the blobs and messages that nothing else uses."""
        threads = self._run(partial(self._drive, partial(deletions.delete_for_runs, run_ids)))
        self._rows.cache.forget(threads)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with its history and its writes.

        Raises:
            CheckpointError: The target has other messages of its own.
        """
        copy = partial(copying.copy_thread, source_thread_id, target_thread_id)
        check_copied(copied=self._run(partial(self._drive, copy)))

    def prune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = KEEP_LATEST,
        turns: int | None = None,
        before: datetime | None = None,
        keeps: Callable[[str], bool] = is_root,
    ) -> None:
        """Delete of threads what the options say; see `AsyncPostgresTier.aprune`."""
        pruning = Pruning(strategy=strategy, turns=turns, before=before, keeps=keeps)
        threads = as_list(thread_ids)
        self._run(partial(self._drive, partial(prunes.prune, threads, pruning)))
        self._rows.cache.forget(threads)

    def forget_rows(self) -> None:
        """Forget which rows the newest checkpoints have: messages are asked for anew."""
        self._rows.cache.clear()

    def last_deletions(self, thread_ids: Sequence[str]) -> deletions.Deletions:
        """Return when these threads were last deleted, those that were not long ago."""
        found = deletions.Deletions()
        for thread_id in thread_ids:
            found.add(thread_id, self._run(partial(self._execute, deletions.last_deletion(thread_id))))
        return found

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what a delta channel's value is rebuilt from. Upstream's shortcut doesn't know of message rows."""
        by_row = [channel for channel in channels if channel in self._rows.channels]
        others = [channel for channel in channels if channel not in by_row]
        found: dict[str, DeltaChannelHistory] = {}
        if by_row:
            found.update(BaseCheckpointSaver.get_delta_channel_history(self, config=config, channels=by_row))
        if others:
            found.update(self._run(partial(super().get_delta_channel_history, config=config, channels=others)))
        return found

    def _read(self, asked: reading.Question) -> Sequence[CheckpointTuple]:
        with self._cursor() as cur:
            rows = cur.execute(*asked, binary=True).fetchall()
            for sends in reading.sent(rows):
                reading.add_sent(self, rows, sends, cur.execute(*sends, binary=True).fetchall())
        return [self._load(row) for row in rows]

    def _load(self, row: DictRow) -> CheckpointTuple:
        messages, times = take_rows(row), (row.pop("deleted_at"), row.pop("read_at"), reading.paths(row))
        return self._rows.load(reading.loaded(self.serde, row), messages, *times)

    def _run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, after more attempts if need be."""
        return self._translated(partial(self._patiently, work))

    def _patiently(self, work: Callable[[], T]) -> T:
        try:
            return work()  # first without the retrier, which costs 0.1 ms
        except Error as error:
            if not is_worth_another_attempt(error, on=self.conn):
                raise
        return self._retrying(work)

    def _translated(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except Error as error:
            failure, cause = translate(error)
        raise failure from cause  # out here, where the driver's error is no longer being handled, nor chained

    def _page(
        self, config: RunnableConfig | None, metadata: dict[str, Any] | None, asked: dict[str, Any]
    ) -> Sequence[CheckpointTuple]:
        """Return a page of a listing; see `AsyncPostgresTier`."""
        try:
            return self._read(reading.listed(config, metadata, **asked))
        except FeatureNotSupported:
            if config is not None:
                raise
        where, values = reading.condition(None, metadata, asked["before"])
        with self._cursor() as cur:
            places = cur.execute(LISTED.format(where=where), [*values, asked["limit"]]).fetchall()
        return [item for place in places for item in self._read(reading.one(bare(**place)))]

    def _drive(self, start: Callable[[], Steps[T]]) -> T:
        steps = start()
        try:
            statement = next(steps)
            while True:
                try:
                    answer = self._execute(statement)
                except UniqueViolation:
                    answer = None
                statement = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what `Steps` says it returns

    def _execute(self, statement: Statement) -> Sequence[DictRow]:
        with self._cursor(pipeline=self.pipe is not None) as cur:
            if statement.of_all and cur.is_apart:
                return []
            cur.execute(statement.sql, statement.params)
            return cur.fetchall() if statement.returns else []

    def _set_up(self, guard: bool | None, tell_adopted: Callable[[Sequence[str]], object] | None) -> None:
        with self._cursor() as cur:
            there = sync_look(cur)
        sync_set_up(self.conn, there.schema, there, partial(schema.missing, guard=guard))
        self._drive(deletions.sweep)
        self._rows.shared = None
        if tell_adopted is not None and is_adoption(there):
            with self._cursor() as cur:
                tell_adopted(sync_foreign_channels(cur))

    @contextmanager
    def _cursor(self, *, pipeline: bool = False) -> Iterator[TableCursor]:
        with self._connection() as conn, sync_table_cursor(conn, self._tables) as cur:
            if pipeline and self.pipe:
                try:
                    yield cur
                finally:
                    self.pipe.sync()
            elif pipeline:
                with conn.pipeline() if self.supports_pipeline else conn.transaction():
                    yield cur
            else:
                yield cur

    def _connection(self) -> AbstractContextManager[Connection[DictRow]]:
        return sync_lease(self.conn) if isinstance(self.conn, ConnectionPool) else self._only_connection(self.conn)

    @contextmanager
    def _only_connection(self, conn: Connection[DictRow]) -> Iterator[Connection[DictRow]]:
        with self.lock:
            sync_check_pooler(conn)
            yield conn

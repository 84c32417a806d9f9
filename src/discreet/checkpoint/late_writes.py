"""What a run may still write once its thread was deleted: nothing. A run that begins later may use the thread's id.

Every deletion has a time, of the database's clock where the durable tier is ours, else of this process's. A run is known
by the object that LangGraph hands to all calls of it and of its subgraphs, and begins with a read: deletions after that
make it late. No I/O: the savers say what they read.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig

from discreet import metrics
from discreet.access.epochs import note_run
from discreet.access.user_keys import UserKeys, default_user_keys
from discreet.checkpoint.checkpoint_ref import control_of, locate, user_of
from discreet.checkpoint.filter import find_run_id
from discreet.checkpoint.postgres.puts import OWNER, SINCE
from discreet.checkpoint.postgres.threads import ALWAYS, NEVER, mark_of
from discreet.checkpoint.scratch import Scratch
from discreet.checkpoint.write_plan import DurablePut
from discreet.errors import ThreadDeletedError

logger = logging.getLogger(__name__)

REMEMBERED = 100_000
"""Runs, deleted runs and deleted threads kept in mind, each. What falls out is only known to the database, if to it."""

NO_DELETION = datetime.min.replace(tzinfo=UTC)

IsOrphan = Callable[[RunnableConfig], object]
"""Says, by what is true of its answer, whether a checkpoint is in neither tier."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_dropped = metrics.dropped_writes.labels(kind="deleted")


@dataclass
class _Run:
    """A run that is, or was, under way."""

    control: Any
    """What it is known by. Held, so that its id is not given to another."""
    thread_id: str
    since: datetime
    """The last deletion before it began."""
    dead: bool = False
    named: bool = False
    """Whether it was told with which checkpoint to begin, and has read nothing else."""


class LateWrites:
    """Runs, and deletions that this process knows of."""

    def __init__(
        self,
        scratch: Scratch,
        *,
        timed_by_database: bool,
        default_user: str | None = None,
        keys: Callable[[], UserKeys] = default_user_keys,
    ) -> None:
        """Forget in `scratch` what deleted threads leave. `timed_by_database`: else deletions get a time here.

        `default_user` is the user of runs that name none, and `keys` gives what the database knows users by.
        """
        self._scratch = scratch
        self._default_user = default_user
        self._keys = keys
        self.timed_by_database = timed_by_database
        self._deleted: OrderedDict[str, datetime] = OrderedDict()
        self._deleted_runs: OrderedDict[str, None] = OrderedDict()
        self._runs: OrderedDict[tuple[int, str], _Run] = OrderedDict()
        self._lock = threading.Lock()

    def last(self, config: RunnableConfig) -> datetime:
        """Return when the thread was last deleted, as far as is known here. Ask before you read it."""
        with self._lock:
            return self._deleted.get(locate(config)[0], NO_DELETION)

    def names(self, config: RunnableConfig) -> list[str]:
        """Return by what the database knows when the thread was deleted, and when all of its user's were."""
        thread_id, _ = locate(config)
        user_id = user_of(config, otherwise=self._default_user)
        return [thread_id, mark_of(self._keys().of(user_id, thread_id))] if self.timed_by_database else [thread_id]

    def observe(self, found: Mapping[str, datetime | None]) -> None:
        """Take note of what the database says of when threads were deleted: what RAM has of an earlier time goes."""
        for thread_id, deleted_at in found.items():
            with self._lock:
                news = deleted_at is not None and deleted_at > self._deleted.get(thread_id, NO_DELETION)
                if news and deleted_at is not None:
                    _remember(self._deleted, thread_id, deleted_at)
            if news:
                self._scratch.drop(thread_id)

    def delete(self, thread_ids: Iterable[str]) -> None:
        """Take note that these threads are being deleted, or were: before and after, where nobody else tells the time."""
        if not self.timed_by_database:
            for thread_id in thread_ids:
                with self._lock:
                    earlier = self._deleted.get(thread_id, NO_DELETION)
                self.observe({thread_id: max(datetime.now(UTC), earlier + timedelta(microseconds=1))})

    def delete_runs(self, run_ids: Iterable[str]) -> None:
        """Take note that what these runs left is being deleted, before it is: what they store from now on is dropped."""
        with self._lock:
            for run_id in run_ids:
                _remember(self._deleted_runs, run_id, None)

    def begin(self, config: RunnableConfig, since: datetime, at: datetime | None = None) -> None:
        """Take note of a run that has read the newest state of its thread. `since`: the last deletion before; `at`: when that was asked.

        By default it was in RAM.
        """
        if (key := _key(config)) is None:
            return
        _, place = locate(config)
        if place.ns == "" and self.timed_by_database:
            note_run(control_of(config), at or datetime.now(UTC))
        with self._lock:
            if place.ns == "" or key not in self._runs:  # a subgraph's read is not the beginning
                run = _Run(control_of(config), key[1], since, named=place.ns == "" and place.checkpoint_id != "")
                _remember(self._runs, key, run)

    def is_only_a_look(self, config: RunnableConfig) -> bool:
        """Return whether a run that has just read the checkpoint which it was told to begin with now reads the newest one.

        LangGraph does so to know whether the thread has moved on, and takes nothing else from it.
        """
        _, place = locate(config)
        run = self._run(config) if place == ("", "") else None
        if run is None or not run.named:
            return False
        run.named = False
        return True

    def since(self, put: DurablePut, config: RunnableConfig) -> DurablePut:
        """Return `put` with what the database is to know of its run; `config` is that which LangGraph put with."""
        if not self.timed_by_database:
            return put
        since = self.last_known(config)
        told_since = ALWAYS if since is None else NEVER if since == NO_DELETION else since.isoformat()
        told = {SINCE: told_since, OWNER: user_of(config, otherwise=self._default_user)}
        return put._replace(config={"configurable": {**put.config["configurable"], **told}})

    def last_known(self, config: RunnableConfig) -> datetime | None:
        """Return the last deletion before the run began; None for a write of no run, or if the database doesn't tell the time."""
        run = self._run(config)
        return run.since if run is not None and self.timed_by_database else None

    def check(self, config: RunnableConfig, *, is_orphan: IsOrphan | None = None) -> None:
        """Look whether what LangGraph writes with `config` belongs to what was deleted.

        `is_orphan` says whether it goes on from a checkpoint that is in neither tier.

        Raises:
            ThreadDeletedError: It does.
        """
        if self.is_late(config, is_orphan=is_orphan):
            raise ThreadDeletedError(self.last(config))

    def is_late(self, config: RunnableConfig, *, is_orphan: IsOrphan | None = None) -> bool:
        """Return what `check` looks for."""
        run, deleted_at = self._known(config)
        if run is None:
            return deleted_at > NO_DELETION and is_orphan is not None and bool(is_orphan(config))
        return run.dead or run.since < deleted_at or self.deleted_run(config) is not None

    def deleted_run(self, config: RunnableConfig) -> str | None:
        """Return the id of the run of `config` if what it left was deleted, or is being deleted."""
        run_id = find_run_id(config, {}) if self._deleted_runs else None
        return run_id if run_id in self._deleted_runs else None

    @contextmanager
    def dropped(self, config: RunnableConfig) -> Iterator[None]:
        """Drop what turns out to be late: the run goes on, and nothing of it is kept."""
        try:
            yield
        except ThreadDeletedError as error:
            self._refuse(config, error.deleted_at)

    def _refuse(self, config: RunnableConfig, deleted_at: datetime | None) -> None:
        thread_id, _ = locate(config)
        _dropped.inc()
        run, last = self._known(config)
        with self._lock:  # several threads may write for one run
            first = run is None or not run.dead
            of_newest = run is not None and first and run.since >= last
            if run is not None:
                run.dead = True
        if first:
            logger.info("write_after_deletion", extra={"thread_id": thread_id})
        self.observe({thread_id: deleted_at if self.timed_by_database else None})
        if of_newest:  # else RAM holds what a later run does
            self._scratch.drop(thread_id)

    def _run(self, config: RunnableConfig) -> _Run | None:
        return self._known(config)[0]

    def _known(self, config: RunnableConfig) -> tuple[_Run | None, datetime]:
        """Return the run of `config`, if it was seen to begin, and when its thread was last deleted."""
        key, thread_id = _key(config), locate(config)[0]
        with self._lock:
            run = self._runs.get(key) if key is not None else None
            if key is not None and run is not None:
                self._runs.move_to_end(key)
            return run, self._deleted.get(thread_id, NO_DELETION)


def _key(config: RunnableConfig) -> tuple[int, str] | None:
    control = control_of(config)
    return None if control is None else (id(control), locate(config)[0])


def _remember(known: OrderedDict[K, V], key: K, value: V) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > REMEMBERED:
        known.popitem(last=False)

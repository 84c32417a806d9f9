"""`discreet migrate-history`: from a history in Redis (V1) to our log, step by step."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

from discreet.access.actor import acting
from discreet.access.identity import load_identities
from discreet.cli.history_told import print_comparison, print_copied, print_phase, print_plan, told_keys
from discreet.cli.progress import bar, interruptible
from discreet.cli.session import login_name, operator
from discreet.errors import ConfigurationError
from discreet.importing.bad_rows import BadRowsFile, default_file
from discreet.importing.history.copying import Copier
from discreet.importing.history.phase import move
from discreet.importing.history.planning import plan
from discreet.importing.history.repairing import Repairer
from discreet.importing.history.v1 import V1History, open_v1
from discreet.importing.history.validating import Comparison, Validator
from discreet.importing.history.writing import RoundWriter
from discreet.redaction.configured import default_redactor
from discreet.redaction.logs import redact_logs
from discreet.settings import Settings, load_settings
from discreet.storage import Storage, open_storage
from discreet.storage.settings.postgres_settings import POLL_SECONDS

T = TypeVar("T")

BAD_ROWS = {False: "history", True: "history-follow"}
"""By whether it follows: another copying begins the first anew meanwhile."""
SETTLE_SECONDS = 1.5 * POLL_SECONDS
"""After so long every process writes both. Until then one may have written to Redis alone what was copied too early."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What to compare."""

    users: int
    seed: int | None
    hours: float
    patience: float


def run_plan(dsn: str | None, redis_url: str | None, *, as_json: bool) -> None:
    """Print what there is, and the steps.

    Raises:
        ImportSourceError: Redis failed.
        StorageError: The database can't be used.
    """
    found = _run(dsn, lambda storage: _with_v1(redis_url, lambda v1: plan(v1, RoundWriter(storage))))
    if as_json:
        print(found.model_dump_json())
    else:
        print_plan(found)


def run_dual_write(
    dsn: str | None, redis_url: str | None, *, follow: bool, repair: bool, bad_rows: Path | None, as_json: bool
) -> int:
    """Begin to write both, copy, and repair what differs if asked; return 1 if some rounds or keys can't be read.

    Raises:
        ImportSourceError: Redis failed, or the file of bad rows can't be written.
        SettingRefusedError: The migration is finished.
        StorageError: The database failed. What was copied stays.
    """
    file = BadRowsFile(bad_rows or default_file(load_settings().data_dir, BAD_ROWS[follow]), replaces=bad_rows is None)
    file.begin(0)

    async def copy(storage: Storage, v1: V1History) -> bool:
        now = (await storage.memory_settings.read()).history_migration
        if now != "switched":  # copying goes on then, too
            await move(storage.memory_settings, "dual_write", since={"off", "finished"}, by=_by())
        copier = Copier(v1, RoundWriter(storage), bad=file.add)
        began = time.monotonic()
        done = await copier.copy(shown=partial(bar, "Copying"))
        await asyncio.sleep(max(0.0, began + SETTLE_SECONDS - time.monotonic()))
        del done["busy"]  # these were looked at again
        done += await copier.copy()
        if repair:
            done += await Repairer(v1, copier.writer, default_redactor()).repair(shown=partial(bar, "Repairing"))
        print_copied(done, copier.unreadable_keys, file, as_json=as_json)
        if follow:
            stopping = asyncio.Event()
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, stopping.set)
            logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
            redact_logs(default_redactor())
            await copier.follow(
                stopping, told=lambda more: print_copied(more, copier.unreadable_keys, file, as_json=as_json)
            )
        return not done["bad"] and not done["busy"] and not copier.unreadable_keys

    with interruptible("Stopped. What was copied stays, and both are written: run it again."):
        is_clean = _run(dsn, lambda storage: _with_v1(redis_url, lambda v1: copy(storage, v1)))
    return 0 if is_clean else 1


def run_validate(dsn: str | None, redis_url: str | None, sample: Sample, *, as_json: bool) -> int:
    """Compare and print what differs; return 1 if something does.

    Raises:
        ImportSourceError: Redis failed.
        StorageError: The database failed.
    """
    found = _run(dsn, lambda storage: _with_v1(redis_url, lambda v1: _validated(storage, v1, sample)))
    print_comparison(found, as_json=as_json)
    return 0 if found.passed else 1


def run_switch(dsn: str | None, redis_url: str | None, sample: Sample | None, *, as_json: bool) -> int:
    """Compare, unless `sample` is None, and switch; return 1, and change nothing, if something differs.

    Raises:
        ImportSourceError: Redis failed.
        SettingRefusedError: Nothing is written to both, or the migration is finished.
        StorageError: Nothing was changed.
    """

    async def switch(storage: Storage) -> Comparison | None:
        found = None
        if sample is not None:
            found = await _with_v1(redis_url, lambda v1: _validated(storage, v1, sample))
        if found is None or found.passed:
            await move(storage.memory_settings, "switched", since={"dual_write"}, by=_by())
        return found

    found = _run(dsn, switch)
    if found is not None and not found.passed:
        print_comparison(found, as_json=as_json)
        print("discreet: Nothing was switched. Mend what differs, as said above, then `switch`.", file=sys.stderr)
        return 1
    compared = (
        "nothing was compared" if found is None else f"{found.rounds:,} rounds of {found.users:,} users are equal"
    )
    keys = "" if found is None else told_keys(found.unreadable_keys)
    told = f"HistoryReader reads ours within five seconds; {compared}.{keys} Go on writing both."
    print_phase("switched", told, as_json=as_json)
    return 0


def run_rollback(dsn: str | None, *, as_json: bool) -> None:
    """Go back to reading V1's.

    Raises:
        SettingRefusedError: Nothing was switched, or the migration is finished.
        StorageError: Nothing was changed.
    """
    _run(dsn, lambda storage: move(storage.memory_settings, "dual_write", since={"switched"}, by=_by()))
    told = "HistoryReader reads V1's history within five seconds. Nothing is lost: both were written, and go on to be."
    print_phase("dual_write", told, as_json=as_json)


def run_finish(dsn: str | None, *, as_json: bool) -> None:
    """End the migration.

    Raises:
        SettingRefusedError: Nothing was switched.
        StorageError: Nothing was changed.
    """
    _run(dsn, lambda storage: move(storage.memory_settings, "finished", since={"switched"}, by=_by()))
    told = "Nothing is read from V1's history. Take its append_round out of the application; Redis lets go of it by itself."
    print_phase("finished", told, as_json=as_json)


def _run(dsn: str | None, work: Callable[[Storage], Awaitable[T]]) -> T:
    """Return what `work` returns for a storage, and have the audit trail name who asked."""
    settings = load_settings()

    async def run() -> T:
        opened = open_storage(dsn, settings=settings, redactor=default_redactor(), maintained=False)
        async with opened as storage:
            return await work(storage)

    with acting(operator(settings)):
        return asyncio.run(run())


async def _with_v1(redis_url: str | None, work: Callable[[V1History], Awaitable[T]]) -> T:
    async with _opened(redis_url, load_settings()) as v1:
        return await work(v1)


@asynccontextmanager
async def _opened(redis_url: str | None, settings: Settings) -> AsyncIterator[V1History]:
    if redis_url is None:
        if settings.redis_url is None:
            raise ConfigurationError("Name V1's Redis: REDIS_URL, or DISCREET_REDIS_URL.")
        redis_url = settings.redis_url.get_secret_value()
    async with open_v1(redis_url) as v1:
        yield v1


async def _validated(storage: Storage, v1: V1History, sample: Sample) -> Comparison:
    validator = Validator(
        history=v1,
        writer=RoundWriter(storage),
        redactor=default_redactor(),
        window=timedelta(hours=sample.hours),
        patience=sample.patience,
    )
    return await validator.validate(users=sample.users, seed=sample.seed)


def _by() -> str:
    return f"cli:{load_identities(load_settings()).of(login_name())}"

"""A worker in a process of its own that is killed, stopped or cut off at one of its steps, and time that goes by meanwhile.

A step is the moment before, or after, a statement, the begin or end of a transaction, or a call of the provider. Only those of the
worker count, not those of what goes on beside it in its process.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncCursor
from psycopg._connection_base import BaseConnection
from psycopg.conninfo import make_conninfo

from discreet.errors import StorageError
from discreet.ports import BatchLimits, FixedSettings, RollingSummary
from discreet.redaction import Redactor
from discreet.settings import Settings
from discreet.state.memory_settings import MemorySettings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.database.connecting.names import OURS, Names
from discreet.testing import StubEmbeddings
from discreet.worker import BatchProviders, Worker
from testkit.conversations import talk
from testkit.outside import OutsideProvider
from testkit.scripts import ScriptProcess

PASSES = 14
"""After so many passes all has to be done: a job's prompts are tried three times at most."""

SCRIPT = "from testkit.interrupted import main; main()"

_counts: ContextVar[bool] = ContextVar("_counts", default=False)


class Report:
    """What a process says, in a file that is read at any time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, Any]:
        """Return all that was said."""
        return json.loads(self._path.read_text()) if self._path.exists() else {}

    def add(self, **told: object) -> None:
        """Say more."""
        self._path.write_text(json.dumps(self.read() | told))


def transactions_begun(label: str) -> int:
    """Return how many transactions more are open after a step with this label."""
    return label.startswith("after BEGIN") - (label in {"after COMMIT", "after ROLLBACK"})


class Steps:
    """Counts the steps of the worker, and does `act` at some of them.

    A `stop` waits for the first step from there on at which no transaction is open: steps may come in another order than in the run
    from which it was drawn, and others would wait for the transaction for ever.
    """

    def __init__(self, at: Mapping[int, str], acts: Mapping[str, Callable[[], None]], report: Report) -> None:
        self.labels: list[str] = []
        self._at, self._acts, self._report = at, acts, report
        self._due: str | None = None
        self._open = 0

    def __call__(self, label: str) -> None:
        """Be at a step."""
        if _counts.get():
            self.labels.append(label)
            self._open += transactions_begun(label)
            self._due = self._at.get(len(self.labels), self._due)
            if self._due is not None and not (self._due == "stop" and self._open):
                act, self._due = self._acts[self._due], None
                self._report.add(label=label)
                act()

    def watch(self) -> None:
        """Be told of all that the driver is asked to do."""
        for name in ("execute", "executemany"):
            _wrap(self, name)
        before = BaseConnection._exec_command

        def command(connection: Any, command: Any, *given: Any, **options: Any) -> Any:
            told = command.decode() if isinstance(command, bytes) else str(command)
            self(f"before {told}")
            done = yield from before(connection, command, *given, **options)
            self(f"after {told}")
            return done

        BaseConnection._exec_command = command  # type: ignore[method-assign]  # stands in


def _wrap(steps: Steps, name: str) -> None:
    before = getattr(AsyncCursor, name)

    @functools.wraps(before)
    async def said(cursor: Any, query: Any, *given: Any, **options: Any) -> Any:
        told = query.decode() if isinstance(query, bytes) else str(query)
        label = " ".join(re.sub(r"\s+", " ", told).split()[:9])
        steps(f"before {label}")
        done = await before(cursor, query, *given, **options)
        steps(f"after {label}")
        return done

    setattr(AsyncCursor, name, said)


@asynccontextmanager
async def worker_of(dsn: str, provider: OutsideProvider, *, lease_seconds: float = 90.0, review: bool = False) -> Any:
    """Yield a storage of its own with a worker over it."""
    settings = Settings(reembed=False)
    live = FixedSettings(MemorySettings(memory_extraction_provider="openai", memory_extraction_review=review))
    async with open_storage(dsn, embeddings=StubEmbeddings(dims=256), settings=settings) as storage:
        yield (
            storage,
            Worker(
                storage.background,
                memory_settings=live,
                providers=BatchProviders(settings, make=lambda _name, _model: provider),
                redactor=Redactor(),
                lease_seconds=lease_seconds,
            ),
        )


_PROMPTS_ARE_DUE = "UPDATE discreet.batch_requests SET due_at = now() - interval '1 second' WHERE state = 'pending'"
_JOBS_ARE_DUE = "UPDATE discreet.batch_jobs SET due_at = now() - interval '1 second' WHERE done_at IS NULL"
_NOBODY_HOLDS = """
UPDATE discreet.batch_jobs SET lease_until = now() - interval '1 second' WHERE done_at IS NULL AND lease_until IS NOT NULL
"""
_LEFT = (
    "SELECT count(*) FROM discreet.session_record WHERE pending_since IS NOT NULL",
    "SELECT count(*) FROM discreet.batch_requests WHERE state IN ('pending', 'submitted')",
    "SELECT count(*) FROM discreet.batch_jobs WHERE done_at IS NULL",
)


_NOT_FOR_LONG = "SELECT set_config('lock_timeout', '2s', true)"
"""A worker that stands still may do so in a transaction, if its steps came in another order than before."""


def let_time_pass(dsn: str, *, leases: bool) -> None:
    """Let all jobs and prompts be due; with `leases` nobody holds a job any more either."""
    with suppress(psycopg.OperationalError), psycopg.connect(dsn, autocommit=True) as connection:  # cut, too: next time
        for statement in (_PROMPTS_ARE_DUE, _JOBS_ARE_DUE, *([_NOBODY_HOLDS] if leases else [])):
            connection.execute(_said(f"{_NOT_FOR_LONG}; {statement}"))


def is_idle(dsn: str) -> bool:
    """Whether all is done that can be."""
    try:
        with psycopg.connect(dsn, autocommit=True) as connection:  # a COMMIT would be a step of the worker's
            return all(connection.execute(_said(query)).fetchone() == (0,) for query in _LEFT)
    except psycopg.OperationalError:  # it was cut together with the worker's: ask again
        return False


def _said(statement: str) -> bytes:
    """Return a statement as the database wants it, also in a process that `testkit.elsewhere` does not reach."""
    told = Names(os.environ.get("DISCREET_SCHEMA", OURS)).translate(statement)
    return told if isinstance(told, bytes) else told.encode()


async def work_until_idle(worker: Worker, dsn: str, *, leases: bool, is_patient: bool = True) -> bool:
    """Do pass after pass, with time in between, until all is done; return whether it is.

    It isn't after `PASSES`, or, unless `is_patient`, after the database has refused something.
    """
    for _ in range(PASSES):
        try:
            await worker.once()
        except StorageError:  # as it says; another pass goes on
            if not is_patient:
                return False
        await asyncio.to_thread(let_time_pass, dsn, leases=leases)
        if await asyncio.to_thread(is_idle, dsn):
            return True
    return False


async def recover(dsn: str, provider: OutsideProvider, *, is_patient: bool = True) -> bool:
    """Let fresh workers do what another left undone, once its transactions are over; return whether all is done."""
    async with worker_of(dsn, provider) as (_, worker):
        await asyncio.to_thread(let_time_pass, dsn, leases=True)
        return await work_until_idle(worker, dsn, leases=True, is_patient=is_patient)


def main() -> None:
    """Be a worker: `dsn`, file of the provider, where to report, and what is to happen when, as JSON."""
    dsn, path, report, options = sys.argv[1:]
    asyncio.run(_main(dsn, path, Report(Path(report)), json.loads(options)))


async def _main(dsn: str, path: str, report: Report, options: dict[str, Any]) -> None:
    acts = {
        "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
        "cut": lambda: cut(dsn, os.getpid()),
    }
    steps = Steps({at: act for act, at in options["acts"]}, acts, report)
    steps.watch()
    provider = OutsideProvider(path, limits=BatchLimits(**options["limits"]), on_step=steps)
    ours = make_conninfo(dsn, application_name=name_of(os.getpid()))
    async with worker_of(ours, provider, lease_seconds=options["lease_seconds"]) as (_, worker):
        _counts.set(True)
        done = await work_until_idle(worker, dsn, leases=options["alone"])
        _counts.set(False)
    report.add(done=done, labels=steps.labels)


def name_of(process: int) -> str:
    """Return what a worker's connections are called at the server."""
    return f"worker {process}"


def cut(dsn: str, process: int) -> None:
    """End all connections of a worker, as an administrator does."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s AND pid <> pg_backend_pid()",
            (name_of(process),),
        )


class WorkerProcess:
    """A worker that runs, with what it says of its steps."""

    def __init__(
        self,
        dsn: str,
        provider: Path,
        *acts: tuple[str, int],
        lease_seconds: float = 90.0,
        limits: Mapping[str, int] | None = None,
        alone: bool = True,
    ) -> None:
        """`acts`: kill, stop or cut, and at which step. Without others beside it, `alone`, it lets leases run out."""
        self._dsn = dsn
        report = provider.with_name(f"report-{os.urandom(4).hex()}.json")
        self._report = Report(report)
        options = {
            "acts": acts,
            "lease_seconds": lease_seconds,
            "limits": dict(limits or {"requests": 3, "bytes": 10_000_000}),
            "alone": alone,
        }
        self._process = ScriptProcess(SCRIPT, dsn, provider, report, json.dumps(options))

    @property
    def told(self) -> dict[str, Any]:
        """What it reported: `label` of the step where something happened to it, and at its end `done` and `labels`."""
        return self._report.read()

    def wait(self) -> int:
        """Wait for its end, and that of its connections; return its exit code."""
        code = self._process.wait(120)
        if code > 0:
            raise AssertionError(self._process.stderr.read()[-3_000:])
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            _until(
                lambda: (
                    connection.execute(
                        "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s "
                        "AND state <> 'idle' AND datname = current_database() AND pid <> pg_backend_pid()",
                        (name_of(self._process.pid),),
                    ).fetchone()
                    == (0,)
                )
            )
        return code

    def wait_until_stopped(self) -> bool:
        """Wait until it stands still; False if it has ended instead."""
        state = Path(f"/proc/{self._process.pid}/stat")

        def seen() -> str:
            try:
                return state.read_text().rpartition(") ")[2][0]
            except (FileNotFoundError, ProcessLookupError):
                return "X"

        _until(lambda: seen() in "TXZ" or self._process.poll() is not None)
        return seen() == "T"

    def go_on(self) -> None:
        """Let it go on after it was stopped. It may have ended, if its steps came in another order this time."""
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()

    def close(self) -> None:
        """End it, and close its streams."""
        self._process.close()


@contextmanager
def worker_process(*given: Any, **options: Any) -> Iterator[WorkerProcess]:
    """Yield a worker, which is killed at the end if it still runs."""
    process = WorkerProcess(*given, **options)
    try:
        yield process
    finally:
        process.close()


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError("It didn't come to that.")
        time.sleep(0.005)


async def set_up(storage: Any) -> None:
    """Log what three people said: several sessions, facts that are known, said twice, and changed, and a compaction."""
    before = datetime.now(UTC) - timedelta(days=3)
    known = ["I work as a nurse at the hospital.", "I have two cats."]
    await storage.memories.save("ann", [MemoryRecord(text=text, created_at=before) for text in known])
    await talk(
        storage,
        "I keep two African Grey parrots.",
        "I stopped working as a nurse at the hospital.",
        "I am allergic to peanuts.",
    )
    await talk(storage, "I keep two African Grey parrots.", "My sister Mai paints.", thread="second")
    await talk(storage, "My car fails once a year.", user="bob", thread="b1")
    await talk(storage, "I play the cello.", "I have two cats.", user="bob", thread="b2")
    await talk(storage, "Em is my dog.", "I row.", "I bake bread.", "I read Proust.", user="eve", thread="e1")
    new = RollingSummary(text="Eve rows and bakes.", rounds=4, last_message_id="a-e1-r3")
    await storage.summaries.commit("eve", "e1", expected=RollingSummary(), new=new)

"""The loop: what is due of all kinds goes, a little of each in turn, within bounds, and goes on where it ended."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import datetime
from typing import LiteralString

from discreet import metrics
from discreet.access.actor import SELF, Actor, acting, current_actor
from discreet.driver_errors import storage_errors
from discreet.errors import DiscreetError
from discreet.ports import AuditLog, LiveSettings
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.statements import fetch
from discreet.storage.retention.sweeper import At, Due, Gone, Sweeper
from discreet.storage.retention.table import BY_NAME, KINDS

logger = logging.getLogger(__name__)

BATCH = 500
"""Rows in a transaction."""
PASS_ROWS = 20_000
"""Rows of a pass at most, give or take a batch: beside the turns of users it takes no more than its share of the server."""
PASS_SECONDS = 20.0
"""Of a pass; the batch that runs then is finished."""
PERIOD_SECONDS = 3_600.0
"""Between two passes over what is kept for days, in one process. What is left of a pass is gone on with in the next minute."""

_NOW: LiteralString = "SELECT clock_timestamp() AS now"

Told = Callable[[Mapping[str, int]], None]
"""Called with what went so far, by kind."""


class Retention:
    """Sweeps what is kept for a while. Any number of processes may; each step is one transaction, so that one may be killed."""

    def __init__(
        self,
        works: Pool,
        sweepers: Sequence[Sweeper],
        *,
        memory_settings: LiveSettings,
        audit: AuditLog,
        clock: Callable[[], datetime] | None = None,
        batch: int = BATCH,
        rows: int = PASS_ROWS,
        seconds: float = PASS_SECONDS,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        """Sweep by `sweepers` on `works`, whose role sees all users.

        `clock`: what time it is; by default the database's, so that a process whose clock is fast deletes nothing early.
        `rows`, `seconds`: bounds of a pass, which `timer` measures.
        """
        self._works = works
        self._sweepers = list(sweepers)
        self._settings = memory_settings
        self._audit = audit
        self._clock = clock
        self._batch = batch
        self._rows = rows
        self._seconds = seconds
        self._timer = timer
        self._due_at: dict[tuple[str, ...], float] = {}
        """By kinds, the time, as `timer` tells it, of the next pass over what is kept for days."""
        self._untold = Counter[str]()
        """What went of what is kept for days and has no entry yet, by kind."""

    def add(self, sweeper: Sweeper) -> None:
        """Sweep by one more, in the place of one for the same kinds."""
        self._sweepers = [each for each in self._sweepers if each.kinds != sweeper.kinds] + [sweeper]

    async def keep(self) -> Mapping[str, int]:
        """Make a pass over what it is time for, as maintenance does every minute; return what went, by kind.

        Raises:
            StorageError: The database does not say what time it is. That one kind can't be swept is logged and counted.
        """
        began = self._timer()
        sweepers = [each for each in self._sweepers if self._due_at.get(each.kinds, began) <= began]
        gone, left = await self._pass(sweepers, await self._at(), rows=self._rows, seconds=self._seconds)
        for sweeper in sweepers:
            if sweeper not in left and not _is_fleeting(sweeper):
                self._due_at[sweeper.kinds] = began + PERIOD_SECONDS
        return gone

    async def sweep(self, *, told: Told | None = None) -> Mapping[str, int]:
        """Delete all that is due, however long it takes; return what went, by kind.

        Raises:
            DiscreetError: A kind can't be swept. The others were.
        """
        gone, _ = await self._pass(self._sweepers, await self._at(), strict=True, told=told)
        return gone

    async def due(self) -> list[Due]:
        """Return what `sweep` would delete, in the order of the table; kinds that nothing here sweeps are missing.

        Raises:
            StorageError: The database failed.
        """
        at = await self._at()
        with storage_errors():
            found = {due.kind: due for each in self._sweepers for due in await each.due(at)}
        return [found[kind.name] for kind in KINDS if kind.name in found]

    async def _at(self) -> At:
        if self._clock is not None:
            return At(now=self._clock(), settings=self._settings.live)
        [row] = await fetch(self._works, _NOW)
        return At(now=row["now"], settings=self._settings.live)

    async def _pass(
        self,
        sweepers: Sequence[Sweeper],
        at: At,
        *,
        rows: float = float("inf"),
        seconds: float = float("inf"),
        strict: bool = False,
        told: Told | None = None,
    ) -> tuple[Counter[str], list[Sweeper]]:
        """Take a step of each of `sweepers` in turn, until none has more or a bound is met; return what went and who has more."""
        began, gone = self._timer(), Counter[str]()
        running = {each.kinds: (each, each.sweep(at, batch=self._batch)) for each in sweepers}
        failure: DiscreetError | None = None
        try:
            while running and gone.total() < rows and self._timer() - began < seconds:
                for sweeper, steps in list(running.values()):
                    try:
                        step = await _next(steps)
                    except DiscreetError as error:
                        _note_failure(sweeper, error)
                        failure, step = error, None
                    if step is None:
                        del running[sweeper.kinds]
                        continue
                    gone.update(step)
                    for kind, number in step.items():
                        metrics.retention_swept.labels(kind).inc(number)
                    if told is not None:
                        told(gone)
        finally:
            for _, steps in running.values():
                await steps.aclose()
            await self._record(gone)
        if strict and failure is not None:
            raise failure
        return gone, [sweeper for sweeper, _ in running.values()]

    async def _record(self, gone: Mapping[str, int]) -> None:
        """Write down what went of what was kept for days, with what could not be written down after a pass before."""
        counts = {kind: number for kind, number in gone.items() if number and not BY_NAME[kind].is_fleeting}
        if counts:
            logger.info("retention.swept %s", " ".join(f"{kind}={number}" for kind, number in counts.items()))
        told, self._untold = self._untold + Counter(counts), Counter()
        if not told:
            return
        actor = current_actor()
        try:
            with acting(Actor(kind="worker") if actor == SELF else actor):
                await self._audit.record("retention.sweep", user_key=None, data="retention", counts=told)
        except DiscreetError:
            self._untold += told
            raise


async def _next(steps: AsyncGenerator[Gone, None]) -> Gone | None:
    with storage_errors():
        return await anext(steps, None)


def _note_failure(sweeper: Sweeper, error: DiscreetError) -> None:
    metrics.retention_failures.labels(sweeper.kinds[0], error.code).inc()
    logger.warning("retention.not_swept kind=%s cause=%s", sweeper.kinds[0], error.code)


def _is_fleeting(sweeper: Sweeper) -> bool:
    return all(BY_NAME[kind].is_fleeting for kind in sweeper.kinds)

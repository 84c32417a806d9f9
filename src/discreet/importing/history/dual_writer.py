"""Write each round into our log too, from an application that goes on with V1's history, and never in the way of its turns."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from discreet import metrics
from discreet.background_loop import wait_for
from discreet.errors import DiscreetError, StorageError
from discreet.importing.history.rounds import turn_of
from discreet.importing.history.writing import RoundWriter
from discreet.importing.source import BadRow
from discreet.ports import TextRedactor
from discreet.redaction.configured import default_redactor
from discreet.state.records import TurnRecord
from discreet.storage import Storage

logger = logging.getLogger(__name__)

WRITE_SECONDS: Final = 1.0
"""A turn of V1's waits no longer for us, and a second more for the connection to a server that hangs; a write takes milliseconds."""
MAX_WAITING: Final = 1_000
"""Rounds that wait in memory for a database that fails: some MB. The oldest are dropped for more; the backfill has them."""
RETRY_SECONDS: Final = (1.0, 30.0)
"""From one try to the next: at first, and at most."""


class DualWriter:
    """Writes rounds into the log of a storage. A turn never fails for it, and waits two seconds at most, once.

    What can't be written now is tried again in the background, in memory: a process that ends loses it, and `discreet
    migrate-history dual-write` copies it from Redis. While the migration is `off` nothing is written.

    Example:
        >>> async def after_a_turn(writer: DualWriter, user_id: str, round_obj: dict[str, object]) -> None:
        ...     # append_round(user_id, round_obj), as ever, then:
        ...     await writer.append_round(user_id, round_obj)
    """

    def __init__(
        self,
        storage: Storage,
        *,
        redactor: TextRedactor | None = None,
        retry_seconds: tuple[float, float] = RETRY_SECONDS,
    ) -> None:
        """Write into `storage`, which its owner closes, after this. `redactor`: as `open_storage` was given it, if it was."""
        self._settings = storage.memory_settings
        self._writer = RoundWriter(storage)
        self._redactor = redactor or default_redactor()
        self._retry_seconds = retry_seconds
        self._waiting: deque[TurnRecord] = deque()
        self._retrying: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """How many rounds wait to be written."""
        return len(self._waiting)

    async def append_round(self, user_id: str, round_obj: Mapping[str, Any]) -> None:
        """Write one round of V1's: {"input", "output", "rid", "timestamp" in ms, "is_emergency"}. It raises nothing."""
        try:
            if self._settings.live.history_migration != "off":
                await self._append(user_id, round_obj)
        except Exception as error:  # noqa: BLE001  # whatever it is, the user of V1 gets their answer
            _failed(error)

    def append_round_sync(self, user_id: str, round_obj: Mapping[str, Any]) -> None:
        """Do the same from code without an event loop, over a storage that `open_storage_sync` opened."""
        try:
            wait_for(self.append_round(user_id, round_obj))
        except Exception as error:  # noqa: BLE001  # as above
            _failed(error)

    async def aclose(self) -> int:
        """Try once more to write what waits; return how many rounds are left, which Redis alone has."""
        if self._retrying is not None:
            self._retrying.cancel()
            with suppress(asyncio.CancelledError):
                await self._retrying
        with suppress(DiscreetError, TimeoutError):
            await self._write_waiting()
        if self._waiting:
            logger.warning("history.dual_writes_lost rounds=%d", len(self._waiting))
            metrics.history_writes.labels(outcome="lost").inc(len(self._waiting))
        return len(self._waiting)

    def close(self) -> int:
        """Do the same from code without an event loop."""
        return wait_for(self.aclose())

    async def _append(self, user_id: str, round_obj: Mapping[str, Any]) -> None:
        turn = turn_of(user_id, round_obj)
        if isinstance(turn, BadRow):
            logger.warning("history.dual_write_refused reason=%s", turn.reason)
            metrics.history_writes.labels(outcome="refused").inc()
            return
        if self._waiting:  # the database fails: the next turn doesn't wait for that, too
            self._later(turn)
            return
        try:
            await self._write(turn)
        except (StorageError, TimeoutError) as error:
            _failed(error)
            self._later(turn)

    async def _write(self, turn: TurnRecord) -> None:
        async with asyncio.timeout(WRITE_SECONDS):
            done = await self._writer.add(turn.user_id or "", turn, self._redactor)
        for outcome, number in done.items():
            metrics.history_writes.labels(outcome=outcome).inc(number)

    def _later(self, turn: TurnRecord) -> None:
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.popleft()
            metrics.history_writes.labels(outcome="lost").inc()
        self._waiting.append(turn)
        if self._retrying is None or self._retrying.done():
            self._retrying = asyncio.create_task(self._retry())

    async def _retry(self) -> None:
        seconds, most = self._retry_seconds
        while self._waiting:
            await asyncio.sleep(seconds)
            try:
                await self._write_waiting()
            except (DiscreetError, TimeoutError) as error:
                _failed(error)
                seconds = min(2 * seconds, most)

    async def _write_waiting(self) -> None:
        while self._waiting:
            turn = self._waiting[0]
            await self._write(turn)
            if self._waiting and self._waiting[0] is turn:  # it may have been dropped for a newer one meanwhile
                self._waiting.popleft()


def _failed(error: Exception) -> None:
    """Tell of a failure by its kind: what it says may hold somebody's text."""
    cause = error.code if isinstance(error, DiscreetError) else type(error).__name__
    logger.warning("history.dual_write_failed cause=%s", cause)
    metrics.history_writes.labels(outcome="failed").inc()

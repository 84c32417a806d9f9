"""Find out whether the parts work, at most once a second, whoever asks and how often."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final, Generic, Literal, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from discreet import outcomes
from discreet.api.services import Services
from discreet.errors import StorageBusyError, StorageError
from discreet.state.described import describe_fields

PATIENCE_SECONDS: Final = 2.0
"""Who asks are load balancers, which wait some seconds at most."""
FRESH_SECONDS: Final = 1.0
"""For how long what was found holds."""
QUEUE_FRESH_SECONDS: Final = 10.0
"""The same of what waits for workers, which takes statements over all users."""
LATE_SECONDS: Final = 3_600.0
"""What waits for longer than that without a worker is no backlog but a worker that is missing."""

_NOBODY: Final = "health check"
_NO_ENTRY: Final = UUID(int=0)

State = Literal["ok", "busy", "down"]
T = TypeVar("T")

logger = logging.getLogger(__name__)


class Health(BaseModel):
    """Whether the parts work."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    status: Literal["ok", "degraded"]
    """`degraded`: a part is down, or work waits for a worker that is missing."""
    database: Literal["ok", "restarting", "down"]
    """`ok`: entries can be read and stored. `restarting`: the embedded server ended and is being started again."""
    pool: Literal["ok", "busy"]
    """`busy`: the database works, and requests wait for each other's connections to it."""
    short_term: Literal["ok", "down"]
    """Sessions and Idempotency-Keys are known. Conversations go on without."""
    vault: Literal["ok", "down"]
    """Models and tools get what was really said. Without it they get placeholders."""
    embedding: Literal["ok", "down"]
    """`down`: the last text that this process wanted embedded was not, within the last five minutes."""
    worker: Literal["ok", "missing", "unknown"]
    """Whether a worker of this database has been seen within a minute, in whatever process."""
    queue_seconds: float | None
    """For how long the oldest work waits that is due and that nobody is at; null if the database can't say."""


class Fresh(Generic[T]):
    """An answer that holds for a while. Of callers at once one asks, and all get what it finds."""

    def __init__(self, ask: Callable[[], Awaitable[T]], seconds: float) -> None:
        self._ask = ask
        self._seconds = seconds
        self._asking: asyncio.Future[T] | None = None
        self._asked_at = 0.0

    async def get(self) -> T:
        """Return the answer."""
        asking = self._asking
        if asking is None or (asking.done() and time.monotonic() - self._asked_at > self._seconds):
            self._asked_at = time.monotonic()
            self._asking = asking = asyncio.ensure_future(self._ask())
        return await asyncio.shield(asking)


class HealthChecks:
    """Asks the parts. They are asked beside each other, and none for longer than two seconds."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._health = Fresh(self._look, FRESH_SECONDS)
        self._queue = Fresh(self._waiting, QUEUE_FRESH_SECONDS)

    async def read(self) -> Health:
        """Return how the parts are."""
        return await self._health.get()

    async def is_ready(self) -> bool:
        """Return whether this process can work for users: the database is there, however busy."""
        return (await self.read()).database == "ok"

    async def _look(self) -> Health:
        services = self._services
        database, short_term, vault = await asyncio.gather(
            _state("database", self._of_database()),
            _state("short_term", services.short_term.session_state(_NOBODY, _NOBODY)),
            _state("vault", self._of_vault()),
        )
        if database == "busy" and services.settings.redis_url is None:
            short_term = "ok"  # it is in the database, and its question only stood in line
        worker, queue = ("unknown", None) if database == "down" else await self._queue.get()
        embedding: Literal["ok", "down"] = "down" if outcomes.embedding.is_down else "ok"
        late = worker == "missing" and (queue or 0) > LATE_SECONDS
        return Health(
            status="degraded" if late or "down" in {database, short_term, vault, embedding} else "ok",
            database="ok" if database != "down" else "restarting" if services.restarting() else "down",
            pool="busy" if database == "busy" else "ok",
            short_term="down" if short_term == "down" else "ok",
            vault="down" if vault == "down" else "ok",
            embedding=embedding,
            worker=worker,
            queue_seconds=queue,
        )

    async def _of_database(self) -> State:
        if self._services.health is not None:
            return await self._services.health.state()
        await self._services.memories.get(_NOBODY, _NO_ENTRY)
        return "ok"

    async def _of_vault(self) -> None:
        if self._services.vault is not None:
            await self._services.vault.avalues(_NOBODY)

    async def _waiting(self) -> tuple[Literal["ok", "missing", "unknown"], float | None]:
        if self._services.waiting is None:
            return "unknown", None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                found = await self._services.waiting()
        except (StorageError, TimeoutError):
            return "unknown", None
        return "ok" if found.workers else "missing", round(found.due_job, 1)


async def _state(part: str, question: Awaitable[object]) -> State:
    """Return what `question` answers, if that is `busy`; `ok` for any other answer."""
    asking = asyncio.ensure_future(question)
    asking.add_done_callback(_taken_note_of)
    # Not `timeout`, which waits until the question has ended: a driver first asks a server that hangs to cancel it.
    await asyncio.wait([asking], timeout=PATIENCE_SECONDS)
    if not asking.done():
        asking.cancel()
        logger.warning("health.down part=%s code=timeout", part)
        return "down"
    try:
        return "busy" if asking.result() == "busy" else "ok"
    except StorageBusyError:
        return "busy"
    except StorageError as error:
        logger.warning("health.down part=%s code=%s", part, error.code)
    except TimeoutError:  # of its own
        logger.warning("health.down part=%s code=timeout", part)
    return "down"


def _taken_note_of(asked: asyncio.Future[object]) -> None:
    """Keep asyncio from logging how a question ended that nobody waited for."""
    if not asked.cancelled():
        asked.exception()

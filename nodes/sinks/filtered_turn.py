"""A turn as it may be kept, and how it is handed to those that keep it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.errors import GraphBubbleUp

from discreet.checkpoint.message_ids import safe_id
from discreet.errors import UserErasedError
from discreet.metrics import persist_failures
from discreet.nodes.run import Run
from discreet.state.conversation import Request
from discreet.state.records import Annotation, Provenance

logger = logging.getLogger(__name__)

SINK_SECONDS = 10.0
"""A turn that is answered waits no longer for a place where it is to be kept."""


@dataclass(frozen=True, kw_only=True)
class FilteredTurn:
    """What is left of a turn: the user's words and the answer, redacted."""

    run: Run
    request: Request
    said: str
    """Placeholders have no tags, since what is kept outlives the thread."""
    answered: str
    """As `said`; empty if the turn has no answer."""
    ended_at: datetime
    looped: bool = False
    """Whether the turn came to the limit of tool rounds."""
    provenance: Provenance = field(default_factory=Provenance)
    """Which model answered."""
    annotation: Annotation = field(default_factory=Annotation)
    """What is noted of the turn; empty if that failed."""
    conversation: Sequence[BaseMessage]
    """The whole thread after this turn: user messages and answers with their ids, redacted as they are looked at, tagged."""
    position: int = 0
    """Of the user's message among those of the thread: 0, 2, 4 …; its answer comes next."""
    waits: bool = False
    """Whether it goes on once the result of one of the client's tools comes. It is handed on again then, under the same request id."""

    @property
    def thread_id(self) -> str:
        """The thread; a run without one is a thread of its own."""
        return self.run.thread_id or self.request["request_id"]

    @property
    def answer_id(self) -> str | None:
        """Id of the message that ends the answer; None if there is none."""
        last = self.conversation[-1] if self.conversation else None
        return safe_id(last.id) if isinstance(last, AIMessage) else None


class Sink(Protocol):
    """Keeps turns somewhere."""

    @property
    def name(self) -> str:
        """What is kept, for logs and metrics."""
        ...

    async def write(self, turn: FilteredTurn) -> None:
        """Keep `turn`. It may raise anything: that costs the turn this place, never its answer."""
        ...


async def write_all(turn: FilteredTurn, sinks: Sequence[Sink]) -> None:
    """Hand `turn` to all of `sinks` at once. A log event and a metric tell what failed.

    Raises:
        UserErasedError: The user was erased since the turn began.
    """
    await asyncio.gather(*(_write(turn, sink) for sink in sinks))


async def _write(turn: FilteredTurn, sink: Sink) -> None:
    try:
        async with asyncio.timeout(SINK_SECONDS):
            await sink.write(turn)
    except (GraphBubbleUp, UserErasedError):
        raise
    except Exception as error:  # noqa: BLE001  # the user has the answer; a foreign place may raise anything
        cause = type(error).__name__
        persist_failures.labels(sink.name, cause).inc()
        logger.warning("persist_failed what=%s cause=%s request_id=%s", sink.name, cause, turn.request["request_id"])

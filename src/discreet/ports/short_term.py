"""What a conversation needs for minutes up to a day, in a place that all processes share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from discreet.errors import InvalidRecordError
from discreet.state.records import in_utc

SESSION_SECONDS = 300.0
"""A session is over five minutes after the last message, unless the setting `retention_session_minutes` says otherwise."""
HISTORY_SECONDS = 86_400.0
"""Everything else of a session is kept for a day after the last message, unless `retention_history_hours` says otherwise."""

WorkKind = Literal["request", "audio", "call"]
"""What may be delivered twice: a message, known by a keyed hash of its text; a recording, known by its own; a call of the
REST API, known by a keyed hash of its Idempotency-Key."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """What the user said and what was answered, redacted."""

    request_id: str
    input_text: str
    output_text: str
    said_at: datetime
    """Aware."""
    is_emergency: bool = False

    def __post_init__(self) -> None:
        """Refuse a time that can be stored and not read.

        Raises:
            InvalidRecordError: It has no time zone, or is before the year 1 or after 9999 in UTC.
        """
        try:
            in_utc(self.said_at)
        except ValueError as error:
            raise InvalidRecordError(f"Round can't be stored: said_at: {error}") from None


@dataclass(frozen=True, kw_only=True)
class Work:
    """One piece of work that must be done once, however often it is delivered."""

    kind: WorkKind
    user_id: str
    ref: str
    """Which one: opaque, no text of the user's."""


@dataclass(frozen=True)
class Started:
    """The work is the caller's. `token` proves it until the lease ends or another caller takes over."""

    token: str


@dataclass(frozen=True)
class Running:
    """Somebody else is at it."""


@dataclass(frozen=True)
class Done:
    """It was done, with this answer."""

    answer: str


Claim = Started | Running | Done


class ShortTermStore(Protocol):
    """Sessions, their last rounds, and claims of work. What expires is invisible at once.

    All text that it gets is redacted. It may lose everything at any time, and nobody's turn may depend on it.

    Raises, from every method:
        ShortTermError: The store can't be reached, or refused.
    """

    async def touch(self, user_id: str, thread_id: str) -> str | None:
        """Make the session ACTIVE, or keep it so, and let all that is kept of it live on. One round trip.

        Return what work that begins now is known by, see `BeginsWork`; None if the store doesn't know.
        """
        ...

    async def session_state(self, user_id: str, thread_id: str) -> Literal["ACTIVE"] | None:
        """Return the state of a session; None if it is over."""
        ...

    async def append_round(self, user_id: str, thread_id: str, said: Round) -> bool:
        """Add a round to the session and touch it; False if its request_id is there already. One round trip."""
        ...

    async def recent_rounds(self, user_id: str, thread_id: str, *, limit: int = 6) -> list[Round]:
        """Return the last `limit` rounds, oldest first."""
        ...

    async def claim(self, work: Work, *, lease: float) -> Claim:
        """Take `work` for `lease` seconds, unless it is taken or done. Of callers at once exactly one gets `Started`."""
        ...

    async def finish(self, work: Work, token: str, answer: str, *, keep: float | None = None) -> bool:
        """Keep `answer` for `keep` seconds, by default for the rest of the lease, and end the lease.

        False, and nothing is kept, if the work is no longer this token's: somebody took over after the lease had ended. So
        a holder that was stopped for too long can't overwrite its successor's answer.
        """
        ...

    async def release(self, work: Work, token: str) -> bool:
        """Give `work` back after a failure, so that the next delivery does it; False if it is no longer this token's."""
        ...

    async def forget(self, user_id: str, thread_id: str | None = None) -> int:
        """Delete all that is kept of a user, or of one session of theirs; return how many entries."""
        ...

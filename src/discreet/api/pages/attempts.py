"""Slow down those who try one token after the other."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from discreet.access.proxies import Origin
from discreet.errors import ShortTermError
from discreet.ports import ShortTermStore, Started, Work
from discreet.redaction.placeholder_key import keyed_digest

logger = logging.getLogger(__name__)

MOST = 10
"""Attempts that one address has in `WINDOW_SECONDS`."""
MOST_SHARED = 100
"""Attempts from the address of a proxy that is not trusted to say whom it speaks for: one who tries must not lock out all."""
WINDOW_SECONDS = 60.0
MAX_REMEMBERED = 1_000
"""Addresses that are remembered; beyond that the one that failed first is forgotten."""

OWNER = "discreet login"
"""Whose claims the attempts are in the short-term store: they concern no user."""


@dataclass(frozen=True)
class Limit:
    """What is counted, and how often it may be in `WINDOW_SECONDS`."""

    name: str
    most: int


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attempt, counted before it is checked."""

    limit: Limit
    wait_seconds: int = 0
    """What it has to wait; 0: it may be made."""
    work: Work | None = None
    """The place that it takes of those that all processes share."""
    token: str = ""


def limit_of(origin: Origin) -> Limit:
    """Return what an attempt counts for: where it comes from.

    Not whom a token names: anybody could write a name into tokens that nobody has signed, and so lock its bearer out.
    """
    return Limit(f"address {origin.address}", MOST_SHARED if origin.is_shared else MOST)


class Attempts:
    """Attempts to sign in that did not succeed, in this process."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Measure by `clock`, in seconds."""
        self._clock = clock
        self._made: dict[str, list[float]] = {}

    def begin(self, limit: Limit) -> int:
        """Count an attempt before it is checked, so that many at once count too.

        Return 0 if it may be made, else the seconds to wait.
        """
        now = self._clock()
        recent = [then for then in self._made.get(limit.name, []) if now - then < WINDOW_SECONDS]
        if len(recent) >= limit.most:
            return max(1, math.ceil(recent[0] + WINDOW_SECONDS - now))
        self._made[limit.name] = [*recent, now]
        while len(self._made) > MAX_REMEMBERED:
            del self._made[next(iter(self._made))]
        return 0

    def made(self, limit: Limit) -> int:
        """Return how many are counted."""
        return len(self._made.get(limit.name, ()))

    def succeeded(self, limit: Limit) -> None:
        """Forget the attempt that was counted last."""
        if made := self._made.get(limit.name):
            made.pop()


class SharedAttempts:
    """The same for all processes of a server: each attempt takes one of the places that its limit has, for a minute.

    The places are claims in the short-term store. Where that is not there, each process counts for itself.
    """

    def __init__(self, short_term: ShortTermStore, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Count in `short_term`; measure by `clock`, in seconds."""
        self._short_term = short_term
        self._own = Attempts(clock=clock)

    async def begin(self, limit: Limit) -> Attempt:
        """Count an attempt before it is checked."""
        if seconds := self._own.begin(limit):
            return Attempt(limit=limit, wait_seconds=seconds)
        return await self._taken(limit)

    async def succeeded(self, attempt: Attempt) -> None:
        """Count it no more: it was no try."""
        self._own.succeeded(attempt.limit)
        if attempt.work is not None:
            with suppress(ShortTermError):  # then it counts for its minute
                await self._short_term.release(attempt.work, attempt.token)

    async def _taken(self, limit: Limit) -> Attempt:
        """Take a place; the first that is tried is the one that is free if nobody else has taken any."""
        first = self._own.made(limit) - 1
        for place in range(first, first + limit.most):
            work = Work(kind="call", user_id=OWNER, ref=_place(limit, place % limit.most))
            try:
                claim = await self._short_term.claim(work, lease=WINDOW_SECONDS)
            except ShortTermError as error:
                logger.warning("pages.attempts_not_shared cause=%s", type(error).__name__)
                return Attempt(limit=limit)
            if isinstance(claim, Started):
                return Attempt(limit=limit, work=work, token=claim.token)
        return Attempt(limit=limit, wait_seconds=math.ceil(WINDOW_SECONDS))


def _place(limit: Limit, number: int) -> str:
    return f"login {keyed_digest('discreet login', {'limit': limit.name}).hex()} {number}"

"""Slow down those who try one token after the other."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jwt

from discreet.access.proxies import Origin
from discreet.errors import ShortTermError
from discreet.ports import ShortTermStore, Started, Work
from discreet.redaction.placeholder_key import keyed_digest

logger = logging.getLogger(__name__)

MOST = 10
"""Attempts that one address has in `WINDOW_SECONDS`."""
MOST_OF_SUBJECT = 30
"""Attempts with tokens that name one subject, from wherever. More than an address has, so that who locks out an administrator from one
address has locked out himself before."""
MOST_SHARED = 100
"""Attempts from the address of a proxy that is not trusted to say whom it speaks for: one who tries must not lock out all."""
WINDOW_SECONDS = 60.0
MAX_REMEMBERED = 1_000
"""Addresses and subjects that are remembered; beyond that the one that failed first is forgotten."""

OWNER = "discreet login"
"""Whose claims the attempts are in the short-term store: they concern no user."""


@dataclass(frozen=True)
class Limit:
    """What is counted, and how often it may be in `WINDOW_SECONDS`."""

    name: str
    most: int


def limits_of(origin: Origin, credential: str) -> list[Limit]:
    """Return what an attempt counts for: where it comes from, and whom the token names, be there such a person or not."""
    limits = [Limit(f"address {origin.address}", MOST_SHARED if origin.is_shared else MOST)]
    subject = _named(credential)
    return limits if subject is None else [*limits, Limit(f"subject {subject}", MOST_OF_SUBJECT)]


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
        """Forget what was counted."""
        self._made.pop(limit.name, None)


class SharedAttempts:
    """The same for all processes of a server: each attempt takes one of the places that its limits have, for a minute.

    The places are claims in the short-term store. Where that is not there, each process counts for itself.
    """

    def __init__(self, short_term: ShortTermStore, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Count in `short_term`; measure by `clock`, in seconds."""
        self._short_term = short_term
        self._own = Attempts(clock=clock)

    async def begin(self, limits: Sequence[Limit]) -> int:
        """Count an attempt before it is checked. Return 0 if it may be made, else the seconds to wait."""
        for limit in limits:
            if (seconds := self._own.begin(limit)) or (seconds := await self._take(limit)):
                return seconds
        return 0

    def succeeded(self, limits: Sequence[Limit]) -> None:
        """Forget what this process has counted."""
        for limit in limits:
            self._own.succeeded(limit)

    async def _take(self, limit: Limit) -> int:
        """Take a place; the first that is tried is the one that is free if nobody else has taken any."""
        first = self._own.made(limit) - 1
        for place in range(first, first + limit.most):
            work = Work(kind="call", user_id=OWNER, ref=_place(limit, place % limit.most))
            try:
                if isinstance(await self._short_term.claim(work, lease=WINDOW_SECONDS), Started):
                    return 0
            except ShortTermError as error:
                logger.warning("pages.attempts_not_shared cause=%s", type(error).__name__)
                return 0
        return math.ceil(WINDOW_SECONDS)


def _place(limit: Limit, number: int) -> str:
    return f"login {keyed_digest('discreet login', {'limit': limit.name}).hex()} {number}"


def _named(credential: str) -> str | None:
    """Return whom a token names, whether or not it is signed by somebody we know; None for an API key."""
    token = credential[7:].strip() if credential[:7].lower() == "bearer " else credential
    try:
        subject = jwt.decode(token, options={"verify_signature": False}).get("sub")
    except (jwt.PyJWTError, ValueError, RecursionError):
        return None
    return subject if isinstance(subject, str) else None

"""V1's history in Redis: a list of rounds a user under `session:<user>:history`. It is read only."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from discreet.errors import ConfigurationError, ImportSourceError, MissingDependencyError, ShortTermError
from discreet.importing.history.keys import NO_LIST, PATTERN, BadKey, history_key, problem_of, user_of
from discreet.importing.history.rounds import parsed
from discreet.importing.source import BadRow
from discreet.storage.redis import RedisClient

ANSWER_SECONDS: Final = 10.0
TOTAL_SECONDS: Final = 30.0
"""Nobody's turn waits for a migration."""
PAGE: Final = 500
"""Rounds, or users, that are asked for in one round trip."""


@dataclass(frozen=True)
class Histories:
    """What there is in V1's Redis."""

    lengths: dict[str, int]
    """How many rounds each user has, by user id."""
    bad: list[BadKey]

    @property
    def unreadable(self) -> Counter[str]:
        """How many keys can't be read, by the reason."""
        return Counter(each.reason for each in self.bad)


@dataclass(frozen=True)
class V1History:
    """What is asked of V1's Redis."""

    client: RedisClient

    async def users(self) -> AsyncIterator[str | BadKey]:
        """Yield the user ids of which there is a history, once each, in any order. All keys of the server are looked through.

        A key that names nobody who can be a user here is told as what it is.

        Raises:
            ImportSourceError: Redis failed.
        """
        known: set[str] = set()
        with _source_errors():
            async for keys in self.client.scan(PATTERN):
                for key in keys:
                    if key not in known:  # SCAN may return a key twice
                        known.add(key)
                        found = await self._read(key)
                        if found is not None:
                            yield found

    async def histories(self) -> Histories:
        """Return what histories there are.

        Raises:
            ImportSourceError: Redis failed.
        """
        found = [each async for each in self.users()]
        bad = [each for each in found if isinstance(each, BadKey)]
        named = [each for each in found if isinstance(each, str)]
        kinds = dict(zip(named, await self._of_all("TYPE", named), strict=True))
        user_ids = [user_id for user_id, kind in kinds.items() if kind == b"list"]
        bad += [
            BadKey(history_key(user_id).encode(), NO_LIST)
            for user_id, kind in kinds.items()
            if kind not in {b"list", b"none"}  # b"none": it expired meanwhile
        ]
        lengths = map(int, await self._of_all("LLEN", user_ids))
        return Histories(dict(zip(user_ids, lengths, strict=True)), bad)

    async def milliseconds_left(self, user_ids: Sequence[str]) -> list[int]:
        """Return how long the history of each is still kept; below 0 if it is kept without a limit, or is gone.

        Raises:
            ImportSourceError: Redis failed.
        """
        return [int(found) for found in await self._of_all("PTTL", user_ids)]

    async def items(self, user_id: str, start: int = 0) -> list[bytes]:
        """Return the items of a history from the number `start` on, oldest first.

        Raises:
            ImportSourceError: Redis failed.
        """
        found: list[bytes] = []
        with _source_errors():
            while True:
                first = start + len(found)
                page = await self.client.command("LRANGE", history_key(user_id), first, first + PAGE - 1)
                found += page
                if len(page) < PAGE:
                    return found

    async def tail(self, user_id: str, k: int) -> list[dict[str, Any]]:
        """Return the last `k` rounds that V1's rolling summary has not, as V1's `fetch_unsummarized_tail` did.

        Raises:
            ImportSourceError: Redis failed, or has what is no round.
        """
        key = history_key(user_id)
        with _source_errors():
            cursor = int(await self.client.command("GET", f"session:{user_id}:summary:rounds") or 0)
            last = await self.client.command("LRANGE", key, max(cursor, 0), -1) if k > 0 else []
        rounds = [parsed(mark_of(0), item) for item in last[-k:]]
        return [{"is_emergency": False, **said} for said in rounds if not isinstance(said, BadRow)]

    async def _of_all(self, command: str, user_ids: Sequence[str]) -> list[Any]:
        found: list[Any] = []
        with _source_errors():
            for first in range(0, len(user_ids), PAGE):
                asked = [(command, history_key(user_id)) for user_id in user_ids[first : first + PAGE]]
                found += await self.client.together(*asked)
        return found

    async def _read(self, key: str) -> str | BadKey | None:
        """Return whose history a key is; None if it is none, or a session of our own short-term store."""
        user_id = user_of(key)
        if user_id is None:
            return None
        problem = problem_of(user_id)
        raw = key.encode(errors="surrogateescape")
        # Ours are session:<user>:<thread>:history, each with a set of request ids beside it; a user id of V1 may have a colon.
        # All of ours are ASCII.
        if raw.isascii() and ":" in user_id and await self.client.command("EXISTS", f"session:{user_id}:requests"):
            return None
        return user_id if problem is None else BadKey(raw, problem)


@asynccontextmanager
async def open_v1(url: str) -> AsyncIterator[V1History]:
    """Yield the history in the Redis at `url`. It connects when it is first used.

    Raises:
        ImportSourceError: The URL can't be used.
        MissingDependencyError: redis-py is not installed.
    """
    history = v1_history(url, answer=ANSWER_SECONDS, total=TOTAL_SECONDS)
    try:
        yield history
    finally:
        await history.client.close()


def v1_history(url: str, *, answer: float, total: float) -> V1History:
    """Return the same, to be closed by its client. A server may be silent for `answer` seconds, a call take `total`."""
    try:
        return V1History(RedisClient(url, answer=answer, total=total))
    except MissingDependencyError:
        raise
    except ConfigurationError as error:
        raise ImportSourceError(str(error).replace("DISCREET_REDIS_URL", "The URL of V1's Redis")) from None


def mark_of(number: int) -> str:
    """Return what names an item of a list: its number, from 1 on."""
    return f"{number + 1}"


@contextmanager
def _source_errors() -> Iterator[None]:
    try:
        yield
    except (ShortTermError, ValueError) as error:  # ValueError: what should be a number is none; it would quote it
        raise ImportSourceError(
            f"The history in Redis can't be read ({type(error).__name__}). See that the server answers, and that its keys are V1's."
        ) from None

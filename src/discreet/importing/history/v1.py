"""V1's history in Redis: a list of rounds a user under `session:<user>:history`. It is read only."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from discreet.errors import (
    ConfigurationError,
    ImportSourceError,
    InvalidUserError,
    MissingDependencyError,
    ShortTermError,
)
from discreet.importing.history.rounds import parsed
from discreet.importing.source import BadRow
from discreet.state.context import check_user_id
from discreet.storage.database.redis_client import RedisClient

_KEYS: Final = "session:*:history"
_KEY: Final = re.compile(r"session:(.+):history", re.DOTALL)

ANSWER_SECONDS: Final = 10.0
TOTAL_SECONDS: Final = 30.0
"""Nobody's turn waits for a migration."""
PAGE: Final = 500
"""Rounds, or users, that are asked for in one round trip."""


@dataclass(frozen=True)
class V1History:
    """What is asked of V1's Redis."""

    client: RedisClient

    async def users(self) -> AsyncIterator[str]:
        """Yield the user ids of which there is a history, once each, in any order. All keys of the server are looked through.

        Raises:
            ImportSourceError: Redis failed.
        """
        known: set[str] = set()
        with _source_errors():
            async for keys in self.client.scan(_KEYS):
                for key in keys:
                    user_id = await self._user_of(key)
                    if user_id is not None and user_id not in known:  # SCAN may return a key twice
                        known.add(user_id)
                        yield user_id

    async def histories(self) -> dict[str, int]:
        """Return how many rounds each user has, by user id. A key that is no list is nobody's history.

        Raises:
            ImportSourceError: Redis failed.
        """
        named = [user_id async for user_id in self.users()]
        kinds = await self._of_all("TYPE", named)
        user_ids = [user_id for user_id, kind in zip(named, kinds, strict=True) if kind == b"list"]
        return dict(zip(user_ids, map(int, await self._of_all("LLEN", user_ids)), strict=True))

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

    async def _user_of(self, key: str) -> str | None:
        """Return whose history a key is; None if it is a session of our own short-term store, or nobody's."""
        matched = _KEY.fullmatch(key)
        if matched is None:
            return None
        user_id = matched[1]
        try:
            check_user_id(user_id)
        except InvalidUserError:
            return None
        # Ours are session:<user>:<thread>:history, each with a set of request ids beside it; a user id of V1 may have a colon.
        ours = ":" in user_id and await self.client.command("EXISTS", f"session:{user_id}:requests")
        return None if ours else user_id


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


def history_key(user_id: str) -> str:
    """Return where V1 has the history of a user."""
    return f"session:{user_id}:history"


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

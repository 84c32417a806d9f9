"""Sessions, rounds and claims without a server."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from discreet.ports import HISTORY_SECONDS, SESSION_SECONDS, Claim, Done, Round, Running, Started, Work


@dataclass
class _Session:
    active_until: float = 0.0
    kept_until: float = 0.0
    rounds: dict[str, Round] = field(default_factory=dict)


@dataclass
class _Claimed:
    token: str
    until: float
    answer: str | None = None


class InMemoryShortTermStore:
    """The port `ShortTermStore` in this process's memory. `clock` returns seconds.

    Example:
        >>> import asyncio
        >>> store = InMemoryShortTermStore()
        >>> work = Work(kind="request", user_id="ann", ref="4f2a")
        >>> claims = [asyncio.run(store.claim(work, lease=3.0)) for _ in range(2)]
        >>> [type(claim).__name__ for claim in claims]
        ['Started', 'Running']
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: dict[tuple[str, str], _Session] = {}
        self._works: dict[Work, _Claimed] = {}

    async def touch(self, user_id: str, thread_id: str) -> None:
        """Make the session ACTIVE, or keep it so."""
        self._touched(user_id, thread_id)

    async def session_state(self, user_id: str, thread_id: str) -> Literal["ACTIVE"] | None:
        """Return the state of a session; None if it is over."""
        session = self._sessions.get((user_id, thread_id))
        return "ACTIVE" if session is not None and session.active_until > self._clock() else None

    async def append_round(self, user_id: str, thread_id: str, said: Round) -> bool:
        """Add a round to the session and touch it; False if its request_id is there already."""
        session = self._touched(user_id, thread_id)
        return session.rounds.setdefault(said.request_id, said) is said

    async def recent_rounds(self, user_id: str, thread_id: str, *, limit: int = 6) -> list[Round]:
        """Return the last `limit` rounds, oldest first."""
        session = self._sessions.get((user_id, thread_id))
        if session is None or session.kept_until <= self._clock() or limit < 1:
            return []
        return list(session.rounds.values())[-limit:]

    async def claim(self, work: Work, *, lease: float) -> Claim:
        """Take `work` for `lease` seconds, unless it is taken or done."""
        claimed = self._works.get(work)
        if claimed is not None and claimed.until > self._clock():
            return Running() if claimed.answer is None else Done(claimed.answer)
        token = secrets.token_hex(16)
        self._works[work] = _Claimed(token, self._clock() + lease)
        return Started(token)

    async def finish(self, work: Work, token: str, answer: str, *, keep: float | None = None) -> bool:
        """Keep `answer`; False if the work is no longer this token's."""
        claimed = self._works.get(work)
        if claimed is None or claimed.token != token or claimed.answer is not None:
            return False
        claimed.answer = answer
        if keep is not None:
            claimed.until = self._clock() + keep
        return True

    async def release(self, work: Work, token: str) -> bool:
        """Give `work` back; False if it is no longer this token's."""
        claimed = self._works.get(work)
        if claimed is None or claimed.token != token or claimed.answer is not None:
            return False
        del self._works[work]
        return True

    async def forget(self, user_id: str, thread_id: str | None = None) -> int:
        """Delete all that is kept of a user, or of one session of theirs; return how many entries."""
        sessions = [key for key in self._sessions if key[0] == user_id and thread_id in (None, key[1])]
        works = [work for work in self._works if work.user_id == user_id and thread_id is None]
        for key in sessions:
            del self._sessions[key]
        for work in works:
            del self._works[work]
        return len(sessions) + len(works)

    def _touched(self, user_id: str, thread_id: str) -> _Session:
        now = self._clock()
        session = self._sessions.get((user_id, thread_id))
        if session is None or session.kept_until <= now:
            session = self._sessions[user_id, thread_id] = _Session()
        session.active_until, session.kept_until = now + SESSION_SECONDS, now + HISTORY_SECONDS
        return session

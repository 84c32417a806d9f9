"""Sessions, last rounds and claims in RAM, for tests with a clock of their own."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from discreet.ports import (
    HISTORY_SECONDS,
    SESSION_SECONDS,
    Claim,
    Done,
    Round,
    Running,
    Started,
    TextRedactor,
    Work,
    of_thread,
)
from discreet.redaction import Redactor
from discreet.state.ids import check_user_id
from discreet.state.text import storable


@dataclass
class _Session:
    active_until: float
    expires_at: float
    rounds: dict[str, Round] = field(default_factory=dict)


@dataclass
class _Claimed:
    expires_at: float
    token: str | None
    answer: str = ""


class InMemoryShortTermStore:
    """The port `ShortTermStore` without a server, thread-safe. It redacts and expires as the real ones do.

    Example:
        >>> import asyncio
        >>> store, work = InMemoryShortTermStore(), Work(kind="request", user_id="ann", ref="1")
        >>> asyncio.run(store.claim(work, lease=3.0)), asyncio.run(store.claim(work, lease=3.0))
        (Started(token='...'), Running())
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, redactor: TextRedactor | None = None) -> None:
        """Let things expire by the seconds of `clock`; redact by `redactor` (default: the product's own)."""
        self._clock = clock
        self._redactor = redactor or Redactor()
        self._sessions: dict[tuple[str, str], _Session] = {}
        self._works: dict[Work, _Claimed] = {}
        self._lock = threading.Lock()

    async def touch(self, user_id: str, thread_id: str) -> None:
        """Make the session ACTIVE for five minutes, and let its rounds live on for a day."""
        with self._lock:
            self._touched(user_id, thread_id)

    async def session_state(self, user_id: str, thread_id: str) -> Literal["ACTIVE"] | None:
        """Return the state of a session; None if it is over."""
        with self._lock:
            session = self._session(user_id, thread_id)
            return "ACTIVE" if session is not None and session.active_until > self._clock() else None

    async def append_round(self, user_id: str, thread_id: str, said: Round) -> bool:
        """Redact and add a round and touch the session; False if its request_id is there already."""
        redact = of_thread(self._redactor, thread_id).redact
        said = replace(said, input_text=redact(said.input_text), output_text=redact(said.output_text))
        with self._lock:
            rounds = self._touched(user_id, thread_id).rounds
            return rounds.setdefault(said.request_id, said) is said

    async def recent_rounds(self, user_id: str, thread_id: str, *, limit: int = 6) -> list[Round]:
        """Return the last `limit` rounds, oldest first."""
        with self._lock:
            session = self._session(user_id, thread_id)
            rounds = [] if session is None else list(session.rounds.values())
            return rounds[-limit:] if limit > 0 else []

    async def claim(self, work: Work, *, lease: float) -> Claim:
        """Take `work` for `lease` seconds, unless it is taken or done."""
        check_user_id(work.user_id)
        with self._lock:
            claimed = self._works.get(work)
            if claimed is not None and claimed.expires_at > self._clock():
                return Running() if claimed.token else Done(claimed.answer)
            token = secrets.token_hex(16)
            self._works[work] = _Claimed(self._clock() + lease, token)
            return Started(token)

    async def finish(self, work: Work, token: str, answer: str, *, keep: float | None = None) -> bool:
        """Keep the redacted `answer` for `keep` seconds, by default for the rest of the lease, and end the lease."""
        answer = storable(of_thread(self._redactor, work.ref).redact(answer))
        with self._lock:
            claimed = self._works.get(work)
            if claimed is None or claimed.token != token:
                return False
            expires_at = claimed.expires_at if keep is None else self._clock() + keep
            self._works[work] = _Claimed(expires_at, None, answer)
            return True

    async def release(self, work: Work, token: str) -> bool:
        """Give `work` back; False if it is no longer this token's."""
        with self._lock:
            claimed = self._works.get(work)
            if claimed is None or claimed.token != token:
                return False
            del self._works[work]
            return True

    async def forget(self, user_id: str, thread_id: str | None = None) -> int:
        """Delete all that is kept of a user, or of one session of theirs; return how many entries had not expired."""
        user_id = check_user_id(user_id)
        with self._lock:
            now = self._clock()
            gone = [key for key in self._sessions if key[0] == user_id and thread_id in (None, key[1])]
            entries = sum(self._entries(self._sessions.pop(key), now) for key in gone)
            works = [work for work in self._works if work.user_id == user_id and thread_id is None]
            return entries + sum(self._works.pop(work).expires_at > now for work in works)

    @staticmethod
    def _entries(session: _Session, now: float) -> int:
        return (session.active_until > now) + (len(session.rounds) if session.expires_at > now else 0)

    def _session(self, user_id: str, thread_id: str) -> _Session | None:
        session = self._sessions.get((check_user_id(user_id), thread_id))
        return session if session is not None and session.expires_at > self._clock() else None

    def _touched(self, user_id: str, thread_id: str) -> _Session:
        now = self._clock()
        user_id = check_user_id(user_id)
        session = self._session(user_id, thread_id) or _Session(now, now)
        session.active_until, session.expires_at = now + SESSION_SECONDS, now + HISTORY_SECONDS
        self._sessions[user_id, thread_id] = session
        return session

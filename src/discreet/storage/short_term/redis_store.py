"""Sessions, last rounds and claims of work in Redis, for those who run one. See `redis_keys` for what lies where."""

from __future__ import annotations

import logging
import math
import secrets
from dataclasses import replace
from typing import Literal

from discreet.access.sensitive_ids import ANY_ID
from discreet.errors import StorageError, UserErasedError
from discreet.ports import (
    Claim,
    Done,
    FixedSettings,
    LiveSettings,
    Round,
    Running,
    Started,
    TextRedactor,
    Work,
)
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.users.epochs import Epochs
from discreet.storage.redis import RedisClient
from discreet.storage.short_term.postgres_store import GRACE_SECONDS
from discreet.storage.short_term.redis_keys import (
    SessionKeys,
    WorkKeys,
    session_keys,
    user_pattern,
    user_prefixes,
    work_keys,
)
from discreet.storage.short_term.redis_rounds import dump_answer, dump_round, load_answer, load_round
from discreet.storage.short_term.redis_scripts import APPEND, CLAIM, FINISH, FORGET, RELEASE, TOUCH
from discreet.storage.short_term.size import Size, size_of_redis
from discreet.storage.short_term.texts import ShortTermTexts

logger = logging.getLogger(__name__)


class RedisShortTermStore:
    """The `ShortTermStore` port over Redis or Valkey, one server or a cluster: one round trip a method, but `forget` of a user."""

    def __init__(
        self,
        url: str,
        *,
        redactor: TextRedactor,
        sealer: FieldSealer,
        epochs: Epochs | None = None,
        memory_settings: LiveSettings | None = None,
    ) -> None:
        """Use the servers at `url` from the first call on; `close` when done. `epochs` know of users who were erased.

        `memory_settings` say how long sessions live.

        Raises:
            MissingDependencyError: redis-py is not installed.
            ConfigurationError: The URL can't be used.
        """
        self._client = RedisClient(url)
        self._texts = ShortTermTexts(redactor, sealer)
        self._epochs = epochs
        self._ids = ANY_ID if epochs is None else epochs.keys.ids
        self._settings = memory_settings or FixedSettings()

    async def touch(self, user_id: str, thread_id: str) -> None:
        """Make the session ACTIVE for five minutes, and let its rounds live on for a day."""
        keys, live = self._session(user_id, thread_id, stores=True), self._settings.live
        session = keys.state, keys.history, keys.requests
        await self._client.run(TOUCH, session, _ms(live.session_seconds), _ms(live.history_seconds))

    async def session_state(self, user_id: str, thread_id: str) -> Literal["ACTIVE"] | None:
        """Return the state of a session; None if it is over."""
        found = await self._client.command("GET", self._session(user_id, thread_id).state)
        return "ACTIVE" if found == b"ACTIVE" else None

    async def append_round(self, user_id: str, thread_id: str, said: Round) -> bool:
        """Redact and add a round and touch the session; False if its request_id is there already."""
        keys, live = self._session(user_id, thread_id, stores=True), self._settings.live
        kept = await self._texts.redacted_round(thread_id, said)
        item = dump_round(self._texts, user_id, thread_id, kept)
        new = await self._client.run(
            APPEND,
            (keys.state, keys.history, keys.requests),
            kept.request_id,
            item,
            _ms(live.session_seconds),
            _ms(live.history_seconds),
        )
        await self._check(user_id, thread_id)
        return bool(new)

    async def recent_rounds(self, user_id: str, thread_id: str, *, limit: int = 6) -> list[Round]:
        """Return the last `limit` rounds, oldest first."""
        history = self._session(user_id, thread_id).history
        if limit < 1:
            return []
        items = await self._client.command("LRANGE", history, -limit, -1)
        return self._texts.join_rounds(user_id, thread_id, map(load_round, items))

    async def claim(self, work: Work, *, lease: float) -> Claim:
        """Take `work` for `lease` seconds, unless it is taken or done."""
        keys, token = self._work(work, stores=True), secrets.token_hex(16)
        found = await self._client.run(CLAIM, (keys.lock, keys.result), token, _ms(lease), _ms(GRACE_SECONDS))
        match found[0]:
            case b"started":
                return Started(token)
            case b"running":
                return Running()
            case _:
                return Done(load_answer(self._texts, work, found[1]))

    async def finish(self, work: Work, token: str, answer: str, *, keep: float | None = None) -> bool:
        """Keep the redacted `answer` for `keep` seconds, by default for the rest of the lease, and end the lease."""
        keys = self._work(work, stores=True)
        kept = dump_answer(self._texts, work, await self._texts.redacted_answer(work, answer))
        until = "" if keep is None else _ms(keep)
        return bool(await self._client.run(FINISH, (keys.lock, keys.result), token, kept, until))

    async def release(self, work: Work, token: str) -> bool:
        """Give `work` back; False if it is no longer this token's."""
        return bool(await self._client.run(RELEASE, (self._work(work).lock,), token))

    async def forget(self, user_id: str, thread_id: str | None = None) -> int:
        """Delete all that is kept of a user, or of one session of theirs; return how many entries had not expired.

        Answers to recordings belong to the user, not to a session. For a whole user all keys of all servers are looked
        through, a thousand at a time, which makes nobody wait.
        """
        if thread_id is not None:
            keys = self._session(user_id, thread_id)
            return int(await self._client.run(FORGET, (keys.state, keys.history, keys.requests)))
        user_id = self._ids.user_id(user_id, stores=False)
        prefixes, entries = user_prefixes(user_id), 0
        async for found in self._client.scan(user_pattern(user_id)):
            if theirs := [key for key in found if key.startswith(prefixes)]:
                entries += int(await self._client.run(FORGET, theirs))
        return entries

    async def size(self) -> Size:
        """Return how much memory of the servers is taken, whoever else uses them."""
        return size_of_redis(await self._client.memory())

    def _session(self, user_id: str, thread_id: str, *, stores: bool = False) -> SessionKeys:
        return session_keys(self._ids.user_id(user_id, stores=stores), self._ids.thread_id(thread_id, stores=stores))

    def _work(self, work: Work, *, stores: bool = False) -> WorkKeys:
        return work_keys(replace(work, user_id=self._ids.user_id(work.user_id, stores=stores)))

    async def _check(self, user_id: str, thread_id: str) -> None:
        """Take back what was just kept of a session if its user was erased since the turn began.

        An erasure that begins from here on finds it.

        Raises:
            UserErasedError: It was taken back.
        """
        try:
            if self._epochs is not None:
                await self._epochs.check(user_id)
        except UserErasedError:
            await self.forget(user_id, thread_id)
            raise
        except StorageError as error:  # sessions are for when the database is down, too
            logger.warning("short_term.epoch_unknown cause=%s", error.code)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()


def _ms(seconds: float) -> int:
    return math.ceil(seconds * 1000)

"""Do what is asked twice under one Idempotency-Key once."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Final
from uuid import UUID

from fastapi import Header
from pydantic import BaseModel

from discreet.access import Caller
from discreet.api.services import Services
from discreet.api.users import User
from discreet.errors import (
    EntryExistsError,
    KeyReusedError,
    NotFoundError,
    ShortTermError,
    StillWorkingError,
)
from discreet.metrics import short_term_failures
from discreet.ports import Done, Running, Started, Work
from discreet.state.records import MemoryRecord

LEASE_SECONDS = 60.0
"""Longer than any call takes; after that, whoever held the key is taken for dead."""
KEEP_SECONDS = 86_400.0
"""For a day the answer is the same."""

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[ -~]+$",
        description="A name of yours for this request: if you send it again within a day, it is not done again.",
    ),
]

_LETTERS: Final = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")
"""Hexadecimal digits in consonants, in which a redactor never sees a number or a secret."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call that may come twice."""

    caller: Caller
    user: User
    """Whose entry it is about."""
    route: str
    """What is asked, so that a key counts for that alone."""
    key: str | None
    """As the client sent it."""
    body: BaseModel
    """As the client sent it."""


@dataclass(frozen=True)
class Outcome:
    """What a call came to."""

    record: MemoryRecord
    replayed: bool
    """Whether it was done before."""


class Idempotency:
    """Keeps of each call a keyed hash of its body and the entry that it came to: no text."""

    def __init__(self, services: Services) -> None:
        """Claim keys in the short-term store of `services`."""
        self._services = services

    async def once(self, call: Call, do: Callable[[UUID | None], Awaitable[MemoryRecord]]) -> Outcome:
        """Do it, unless a call of this key did: then return the entry that this one came to.

        `do` gets the id that a new entry is to have, the same whenever the call comes, or None without a key: so it is
        not done twice either when the short-term store has lost everything.

        Raises:
            KeyReusedError: The key is that of a call with another body.
            StillWorkingError: The first call is under way.
            NotFoundError: The entry that it came to was deleted since.
            ShortTermError: Nobody knows what was done; nothing was.
        """
        if call.key is None:
            return Outcome(await do(None), replayed=False)
        names = self._names(call)
        work = Work(kind="call", user_id=call.caller.identity, ref=names.ref)
        match await self._services.short_term.claim(work, lease=LEASE_SECONDS):
            case Done(answer):
                fingerprint, _, entry = answer.partition("-")
                if not hmac.compare_digest(fingerprint, names.fingerprint):
                    raise KeyReusedError
                return Outcome(await self._entry(call, _read(entry)), replayed=True)
            case Running():
                raise StillWorkingError
            case Started(token):
                return await self._first(call, names, work, token, do)

    async def _first(
        self,
        call: Call,
        names: _Names,
        work: Work,
        token: str,
        do: Callable[[UUID | None], Awaitable[MemoryRecord]],
    ) -> Outcome:
        short_term = self._services.short_term
        try:
            outcome = await self._done(call, names, do)
        except BaseException:  # cancellation too: a client that hangs up may ask again at once
            await self._quietly("release", short_term.release(work, token))
            raise
        answer = f"{names.fingerprint}-{outcome.record.entry_id.hex.translate(_LETTERS)}"
        await self._quietly("finish", short_term.finish(work, token, answer, keep=KEEP_SECONDS))
        return outcome

    async def _done(self, call: Call, names: _Names, do: Callable[[UUID | None], Awaitable[MemoryRecord]]) -> Outcome:
        try:
            return Outcome(await do(names.entry_id), replayed=False)
        except EntryExistsError:
            record = await self._services.memories.get(call.user.identity, names.entry_id)
            if record is None:  # the client chose an id that is taken
                raise
            return Outcome(record, replayed=True)

    async def _entry(self, call: Call, entry_id: UUID) -> MemoryRecord:
        record = await self._services.memories.get(call.user.identity, entry_id)
        if record is None:
            raise NotFoundError
        return record

    async def _quietly(self, doing: str, awaitable: Awaitable[object]) -> None:
        """Go on if the short-term store fails: what was asked is done, or wasn't."""
        try:
            await awaitable
        except ShortTermError as error:
            short_term_failures.labels(doing=doing, cause=type(error).__name__).inc()
            _log.warning("idempotency_not_kept doing=%s cause=%s", doing, type(error).__name__)

    def _names(self, call: Call) -> _Names:
        """Return what a call is known by, under the key that makes identities: nobody can try bodies against it."""
        key = self._services.authenticator.identity("discreet idempotency").encode()
        whose = [call.caller.identity, call.user.identity, call.route, call.key]

        def digest(*parts: object) -> bytes:
            return hmac.digest(key, json.dumps([*whose, *parts]).encode(), hashlib.sha256)

        return _Names(
            ref=digest("ref")[:16].hex().translate(_LETTERS),
            fingerprint=digest("body", call.body.model_dump_json(exclude_unset=True))[:16].hex().translate(_LETTERS),
            entry_id=UUID(bytes=digest("entry")[:16], version=4),
        )


@dataclass(frozen=True, kw_only=True)
class _Names:
    ref: str
    fingerprint: str
    entry_id: UUID


def _read(entry: str) -> UUID:
    return UUID(hex=entry.translate({after: before for before, after in _LETTERS.items()}))

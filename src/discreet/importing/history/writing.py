"""Write rounds of V1 into our log: once each, redacted by it, and none that their user had erased."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, LiteralString

from discreet.access.epochs import Beginning, begun
from discreet.errors import UserErasedError
from discreet.importing.history.rounds import THREAD, content_of, free
from discreet.ports import TextRedactor
from discreet.redaction.records import redacted_turn
from discreet.state.records import TurnRecord
from discreet.storage import Storage
from discreet.storage.database.statements import fetch
from discreet.storage.database.users.epochs import SKEW, epoch_of

Outcome = Literal["written", "there", "erased"]
"""What becomes of a round: `there` it was before; `erased`: its user had theirs erased after they said it."""

ATTEMPTS: Final = 3
"""An erasure gives its user another epoch when it begins and when it ends."""

_ERASED_AT: LiteralString = """
SELECT max(greatest(asked_at, done_at)) AS at FROM discreet.erasure WHERE user_key = %(user_key)s AND scope <> 'memory'
"""
"""Of a part too: of what went with it nothing is left here that could be asked, so nothing said before comes back."""

_THERE: LiteralString = """
SELECT request_id FROM discreet.conversation_log WHERE user_key = %(user_key)s AND request_id = ANY (%(request_ids)s)
"""


_TAKEN: LiteralString = """
SELECT request_id FROM discreet.conversation_log
WHERE user_key = %(user_key)s AND (request_id = %(rid)s OR request_id >= %(rid)s || '#' AND request_id < %(rid)s || '$')
"""
"""Of all rounds with one rid: in the order of the index `$` comes after `#`."""

MAX_TURNS: Final = 100_000
_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True)
class RoundWriter:
    """Writes into the log of a storage, on its event loop."""

    storage: Storage

    async def write(self, user_id: str, turns: Sequence[TurnRecord], *, known: bool = False) -> Counter[Outcome]:
        """Write the turns of one user, each in a transaction of its own; return how many came to what.

        `known`: the caller knows which of them are there, and wants those replaced.

        Raises:
            UserErasedError: The user is being erased, and that goes on. What was written before goes with the rest of theirs.
            StorageError: Those before it are written.
        """
        for _ in range(ATTEMPTS - 1):
            try:
                return await self._write(user_id, turns, known=known)
            except UserErasedError:
                continue  # under the epoch there is now, which of them are older than the erasure
        return await self._write(user_id, turns, known=known)

    async def add(self, user_id: str, turn: TurnRecord, redactor: TextRedactor) -> Counter[Outcome]:
        """Write a turn that comes without the list it is in: beside others with its rid, unless one of them is equal.

        `redactor` is as the storage has it. Of two with one rid that are added at the same moment one may take the
        place of the other: a copy of the list brings that back.

        Raises:
            UserErasedError: As of `write`.
            StorageError: Nothing was written.
        """
        user_key = self.storage.background.keys.of_user(user_id)
        rows = await fetch(self.storage.pool, _TAKEN, {"user_key": user_key, "rid": turn.request_id})
        taken = {row["request_id"] for row in rows}
        if taken:
            at = turn.started_at
            stored = await self.storage.log.read(
                user_id, thread_id=THREAD, after=at - _MILLISECOND, before=at + _MILLISECOND, limit=MAX_TURNS
            )
            wanted = content_of(await asyncio.to_thread(redacted_turn, turn, redactor))
            if any(each.request_id in taken and content_of(each) == wanted for each in stored):
                return Counter[Outcome]({"there": 1})
        return await self.write(user_id, [free(turn, taken)], known=True)

    async def erased_until(self, user_id: str) -> datetime | None:
        """Return until when what a user said is not brought in; None if nothing of theirs was erased.

        Raises:
            StorageError: The database failed.
        """
        user_key = self.storage.background.keys.of_user(user_id)
        at = (await fetch(self.storage.pool, _ERASED_AT, {"user_key": user_key}))[0]["at"]
        return None if at is None else at + SKEW  # V1's times are those of its own machines

    async def there(self, user_id: str, request_ids: Sequence[str]) -> set[str]:
        """Return which of these the log has of a user.

        Raises:
            StorageError: The database failed.
        """
        user_key = self.storage.background.keys.of_user(user_id)
        rows = await fetch(self.storage.pool, _THERE, {"user_key": user_key, "request_ids": list(request_ids)})
        return {row["request_id"] for row in rows}

    async def _write(self, user_id: str, turns: Sequence[TurnRecord], *, known: bool) -> Counter[Outcome]:
        user_key = self.storage.background.keys.of_user(user_id)
        epoch = await epoch_of(self.storage.pool, user_key)  # first: an erasure that begins later is noticed by it
        until = await self.erased_until(user_id)
        there = set() if known else await self.there(user_id, [turn.request_id for turn in turns])
        done: Counter[Outcome] = Counter()
        with begun(Beginning(user_key, epoch)):
            for turn in turns:
                if until is not None and turn.started_at <= until:
                    done["erased"] += 1
                elif turn.request_id in there:
                    done["there"] += 1
                else:
                    done["written" if await self.storage.log.append(turn) else "there"] += 1
        return done

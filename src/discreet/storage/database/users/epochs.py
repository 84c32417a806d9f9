"""Under which epoch work for a user began, as the database knows it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, LiteralString
from uuid import UUID

from discreet.access.epochs import NEVER_ERASED, Beginning, current_beginning
from discreet.access.user_keys import UserKeys
from discreet.errors import UserErasedError
from discreet.state.ids import check_user_id
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.statements import fetch

FIRST_EPOCH: Final = NEVER_ERASED

SKEW: Final = timedelta(minutes=1)
"""How far the clocks of processes and of the database may be apart."""

_EPOCH: LiteralString = "SELECT epoch FROM discreet.users WHERE user_key = %(user_key)s"

_EPOCHS: LiteralString = "SELECT user_key, epoch FROM discreet.users WHERE user_key = ANY (%(user_keys)s)"

_ERASED_SINCE: LiteralString = """
SELECT FROM discreet.erasure WHERE user_key = %(user_key)s AND (asked_at > %(at)s OR done_at > %(at)s) LIMIT 1
"""

_ASKED_SINCE: LiteralString = """
SELECT FROM discreet.erasure WHERE user_key = %(user_key)s AND asked_at > %(at)s LIMIT 1
"""


async def epoch_of(pool: Pool, user_key: UUID) -> int:
    """Return the epoch that a user has now."""
    found = await fetch(pool, _EPOCH, {"user_key": user_key})
    return found[0]["epoch"] if found else FIRST_EPOCH


async def epochs_of(pool: Pool, user_keys: Collection[UUID]) -> dict[UUID, int]:
    """Return the epoch that each of these users has now."""
    rows = await fetch(pool, _EPOCHS, {"user_keys": sorted(user_keys)}) if user_keys else []
    return dict.fromkeys(user_keys, FIRST_EPOCH) | {row["user_key"]: row["epoch"] for row in rows}


async def began_under(pool: Pool, user_key: UUID, epoch: int | None = None) -> int | None:
    """Return the epoch under which work for a user that is done here began: what is given, else what was told of the turn.

    None: nobody has said.

    Raises:
        UserErasedError: When it began is known alone, and the user was erased since.
    """
    told = current_beginning()
    if epoch is not None or told is None:
        return epoch
    if told.at is None:
        return told.epoch if told.user_key == user_key else None
    now = await epoch_of(pool, user_key)
    if await fetch(pool, _ERASED_SINCE, {"user_key": user_key, "at": told.at - SKEW}):
        raise UserErasedError
    return now


async def begins_under(pool: Pool, user_key: UUID, epoch: int | None = None) -> int:
    """Return the same; of work that nobody has said it of, that it begins now."""
    began = await began_under(pool, user_key, epoch)
    return await epoch_of(pool, user_key) if began is None else began


@dataclass(frozen=True)
class Epochs:
    """The epochs of users who are known by their ids."""

    pool: Pool
    keys: UserKeys

    async def begin(self, user_id: str | None, thread_id: str = "") -> str:
        """Return what work that begins now is known by, for a user or for whoever speaks in a thread.

        Raises:
            InvalidUserError: `user_id` can't be used.
            StorageError: The database failed.
        """
        user_key = self.keys.of(None if user_id is None else check_user_id(user_id), thread_id)
        return str(Beginning(user_key, await epoch_of(self.pool, user_key)))

    async def check_run(self, user_id: str | None, thread_id: str, began_after: datetime) -> None:
        """See that no erasure of a user was asked for after a time, before which a run of theirs had not begun.

        Raises:
            UserErasedError: One was.
            StorageError: The database failed.
        """
        if await fetch(self.pool, _ASKED_SINCE, {"user_key": self.keys.of(user_id, thread_id), "at": began_after}):
            raise UserErasedError

    async def check(self, user_id: str) -> None:
        """See that a user was not erased since what is done here began, if that was told.

        Raises:
            UserErasedError: They were.
            StorageError: The database failed.
        """
        user_key = self.keys.of_user(check_user_id(user_id))
        began = await began_under(self.pool, user_key)
        if began is not None and began != await epoch_of(self.pool, user_key):
            raise UserErasedError

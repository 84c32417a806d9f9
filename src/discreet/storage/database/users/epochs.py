"""Under which epoch work for a user began, as the database knows it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString
from uuid import UUID

from discreet.access.epochs import NEVER_ERASED, Beginning, current_beginning
from discreet.access.user_keys import UserKeys
from discreet.driver_errors import storage_errors
from discreet.errors import UserErasedError
from discreet.state.context import check_user_id
from discreet.storage.database.connecting.pool import Pool

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
    row = await _one(pool, _EPOCH, {"user_key": user_key})
    return FIRST_EPOCH if row is None else row["epoch"]


async def epochs_of(pool: Pool, user_keys: Collection[UUID]) -> dict[UUID, int]:
    """Return the epoch that each of these users has now."""
    rows: list[dict[str, Any]] = []
    if user_keys:
        async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
            rows = await (await cursor.execute(_EPOCHS, {"user_keys": sorted(user_keys)})).fetchall()
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
    if await _one(pool, _ERASED_SINCE, {"user_key": user_key, "at": told.at - SKEW}) is not None:
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
        with storage_errors():
            return str(Beginning(user_key, await epoch_of(self.pool, user_key)))

    async def check_run(self, user_id: str | None, thread_id: str, began_after: datetime) -> None:
        """See that no erasure of a user was asked for after a time, before which a run of theirs had not begun.

        Raises:
            UserErasedError: One was.
            StorageError: The database failed.
        """
        given = {"user_key": self.keys.of(user_id, thread_id), "at": began_after}
        with storage_errors():
            if await _one(self.pool, _ASKED_SINCE, given) is not None:
                raise UserErasedError

    async def check(self, user_id: str) -> None:
        """See that a user was not erased since what is done here began, if that was told.

        Raises:
            UserErasedError: They were.
            StorageError: The database failed.
        """
        user_key = self.keys.of_user(check_user_id(user_id))
        with storage_errors():
            began = await began_under(self.pool, user_key)
            if began is not None and began != await epoch_of(self.pool, user_key):
                raise UserErasedError


async def _one(pool: Pool, statement: LiteralString, given: dict[str, Any]) -> dict[str, Any] | None:
    async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
        return await (await cursor.execute(statement, given)).fetchone()

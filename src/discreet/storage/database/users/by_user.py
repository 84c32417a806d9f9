"""Delete what is due of many users, each of them locked in turn."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, LiteralString
from uuid import UUID

from discreet.errors import UserBusyError
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.expiry import BEGINNING
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.database.users.users import Cursor

logger = logging.getLogger(__name__)


async def delete_by_user(
    works: Pool,
    locks: UserLocks,
    find: LiteralString,
    delete: Callable[[Cursor, UUID], Awaitable[int]],
    *,
    given: Mapping[str, Any],
    batch: int,
) -> AsyncGenerator[int, None]:
    """Call `delete` for all who have something due, each locked in a transaction; yield how many rows went after each.

    `find` is a statement for `given`, `batch` and `after` that returns user_key and due of at most `batch` rows, those longest due first, from
    `after` on. Who is being written for is left for the next time.
    """
    after: object = BEGINNING
    while True:
        async with works.connection() as conn, conn.cursor(binary=True) as cursor:
            rows = await (await cursor.execute(find, {**given, "after": after, "batch": batch})).fetchall()
        for user_key in dict.fromkeys(row["user_key"] for row in rows):
            try:
                async with locks.locked([user_key], adds=False, wait_seconds=0) as locked:
                    gone = await delete(locked.cursor, user_key)
            except UserBusyError:
                logger.info("retention.user_not_swept cause=busy")
                continue
            if gone:
                yield gone
        if len(rows) < batch or rows[-1]["due"] == after:
            return
        after = rows[-1]["due"]

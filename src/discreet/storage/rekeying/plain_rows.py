"""Whether tables hold rows that are not sealed, which nobody reads where there is a key."""

from __future__ import annotations

import logging
from typing import Final

from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.sealed_columns import SEALED_TABLES
from discreet.storage.database.statements import fetch
from discreet.storage.rekeying.statements import count_plain, has_plain

logger = logging.getLogger(__name__)

STORED_BEFORE: Final = (
    "They were stored before the key, or written past Discreet. If keys were turned on just now, `discreet rekey --seal-plain` "
    "seals them, and you vouch for them; else restore a backup, or delete them."
)
"""What to do about plain rows where there is a key."""


async def plain_rows(works: Pool) -> dict[str, int]:
    """Return how many rows have something that is not sealed, by table; all rows are looked at.

    Raises:
        StorageError: The database failed.
    """
    found = {table.name: await fetch(works, count_plain(table)) for table in SEALED_TABLES}
    return {name: rows[0]["rows"] for name, rows in found.items() if rows[0]["rows"]}


async def tell_of_plain_rows(works: Pool) -> None:
    """Log which tables hold such rows, and what to do. Only the first 1,000 rows of each are looked at: those from before the key, as a rule.

    Raises:
        StorageError: The database failed.
    """
    names = [table.name for table in SEALED_TABLES if await fetch(works, has_plain(table))]
    if names:
        logger.warning(
            "storage.plain_rows tables=%s They were stored before the key, or written past Discreet, and are not read. "
            "`discreet doctor` says what to do.",
            ",".join(names),
        )

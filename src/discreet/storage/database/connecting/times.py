"""Read times in UTC, whatever the session's time zone is: in others those of the years 1 and 9999 can't be told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from psycopg import DataError
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""What PostgreSQL counts microseconds from."""


class UtcLoader(Loader):
    """Reads `timestamptz` in its binary form."""

    format = Format.BINARY

    def load(self, data: Buffer) -> datetime:
        """Return the time.

        Raises:
            DataError: It is infinite, or before the year 1 or after 9999.
        """
        try:
            return _EPOCH + timedelta(microseconds=int.from_bytes(data, signed=True))
        except OverflowError:
            raise DataError("A time of the database is not between the years 1 and 9999.") from None

"""Where the next page begins, as a text that says nothing to the client."""

from __future__ import annotations

import binascii
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from discreet.errors import InvalidRequestError
from discreet.state.records import PageMark

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FORM: Final = struct.Struct(">q16s")
"""Microseconds since 1970, which PostgreSQL keeps exactly, and the entry_id."""


def cursor_of(mark: PageMark) -> str:
    """Return the cursor of a page that begins after `mark`."""
    created_at, entry_id = mark
    return urlsafe_b64encode(_FORM.pack((created_at - _EPOCH) // timedelta(microseconds=1), entry_id.bytes)).decode()


def mark_of(cursor: str) -> PageMark:
    """Return the mark of a cursor.

    Raises:
        InvalidRequestError: It is none of ours.
    """
    try:
        microseconds, entry_id = _FORM.unpack(urlsafe_b64decode(cursor))
        return _EPOCH + timedelta(microseconds=microseconds), UUID(bytes=entry_id)
    except (binascii.Error, ValueError, struct.error, OverflowError):
        raise InvalidRequestError([("cursor", "is not the `next` of an earlier answer")]) from None

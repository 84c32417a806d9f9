"""Ids of users and threads as text, whatever a caller has them as, and those of secrets that are kept elsewhere."""

from __future__ import annotations

import base64
import re
import secrets
import unicodedata
from typing import Final
from uuid import UUID

from discreet.errors import InvalidThreadError, InvalidUserError

MAX_USER_ID_CHARS: Final = 200
"""Long enough for every identity provider's subject (OpenID Connect Core 1.0, section 2: 255 ASCII at most, and
those seen in practice are under 100), short enough for an index key beside the other columns."""

_MOST: Final = 10**MAX_USER_ID_CHARS


def id_text(given: object) -> str | None:
    """Return an id as text: a string as it is, an int or a UUID written out; None of anything else, `True` and `1.0` too.

    Example:
        >>> id_text(0), id_text(UUID(int=7)), id_text(b"7")
        ('0', '00000000-0000-0000-0000-000000000007', None)
    """
    if isinstance(given, str):
        return str.__str__(given)
    if isinstance(given, UUID):
        return str(given)
    return str(int(given)) if isinstance(given, int) and not isinstance(given, bool) and abs(given) < _MOST else None


def id_as_text(given: object) -> object:
    """Return an int or a UUID as its text, anything else as it is: for a field whose type refuses that."""
    return given if (text := id_text(given)) is None else text


def check_user_id(user_id: object) -> str:
    """Return `user_id` as the text that keys a person's memories: 7 is "7".

    Raises:
        InvalidUserError: Neither text nor int nor UUID, blank, too long, or with control characters or lone surrogates.
    """
    text = id_text(user_id)
    if (
        text is None
        or not text.strip()
        or len(text) > MAX_USER_ID_CHARS
        or any(unicodedata.category(char) in ("Cc", "Cs") for char in text)
    ):
        raise InvalidUserError
    return text


def check_thread_id(thread_id: object) -> str:
    """Return `thread_id` as text.

    Raises:
        InvalidThreadError: Neither text nor int nor UUID.
    """
    text = id_text(thread_id)
    if text is None:
        raise InvalidThreadError
    return text


SECRET_ID_CHARS: Final = 24
"""120 random bits in base32 (RFC 4648, section 6). Such an id is a word of capitals: nothing takes it for a value, and with
the name of its type before it, it has the form of a placeholder's type."""

_SECRET_ID: Final = re.compile(rf"[A-Z2-7]{{{SECRET_ID_CHARS}}}")


def new_secret_id() -> str:
    """Return an id that nobody can guess, and that says nothing of whose it is or of what.

    >>> is_secret_id(new_secret_id())
    True
    """
    return base64.b32encode(secrets.token_bytes(SECRET_ID_CHARS * 5 // 8)).decode("ascii")


def is_secret_id(text: str) -> bool:
    """Return whether `text` has the form of such an id."""
    return _SECRET_ID.fullmatch(text) is not None

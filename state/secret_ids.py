"""Ids by which a secret that was kept elsewhere is referred to."""

from __future__ import annotations

import base64
import re
import secrets
from typing import Final

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

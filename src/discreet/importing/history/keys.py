"""Whose history a key of V1's Redis is, or why nobody's here."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Final

from discreet.errors import InvalidUserError
from discreet.importing.source import BadRow
from discreet.state.ids import MAX_USER_ID_CHARS, check_user_id

PATTERN: Final = "session:*:history"
NO_LIST: Final = "key: no list"
_KEY: Final = re.compile(r"session:(.*):history", re.DOTALL)


@dataclass(frozen=True)
class BadKey:
    """A key whose history can't be taken over."""

    key: bytes = field(repr=False)
    reason: str
    """Why, without the key."""

    @property
    def digest(self) -> str:
        """What stands for the key."""
        return digest_of(self.key)

    def row(self) -> BadRow:
        """Return what the file of bad rows has of it."""
        return BadRow(mark=f"key {self.digest}", reason=self.reason, key=self.key)


def digest_of(told: bytes) -> str:
    """Return what stands for a key or a user id in a mark."""
    return hashlib.sha256(told).hexdigest()[:32]


def history_key(user_id: str) -> str:
    """Return where V1 has the history of a user."""
    return f"session:{user_id}:history"


def user_of(key: str) -> str | None:
    """Return the user id in a key as SCAN tells it, whether it can be one or not; None if it is no history's."""
    matched = _KEY.fullmatch(key)
    return None if matched is None else matched[1]


def problem_of(user_id: str) -> str | None:
    """Return why a user id can't be one here; None if it can."""
    try:
        check_user_id(user_id)
    except InvalidUserError:
        if any("\ud800" <= char <= "\udfff" for char in user_id):  # as SCAN tells what is no UTF-8
            return "key: not UTF-8"
        if not user_id.strip():
            return "key: no user id"
        if len(user_id) > MAX_USER_ID_CHARS:
            return f"key: a user id of more than {MAX_USER_ID_CHARS} characters"
        return "key: control characters in the user id"
    return None

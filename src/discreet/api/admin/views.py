"""What an administrator looks for, sealed, so that an address (and any log of addresses) shows none of it."""

from __future__ import annotations

import base64
import binascii
from datetime import date
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from discreet.api.admin.sessions import AdminSession, derive
from discreet.encryption import Keyring, associate, seal, unseal
from discreet.errors import EncryptionError
from discreet.ports import Key
from discreet.state.records import MemoryType

TYPES: tuple[str, ...] = get_args(MemoryType)


class View(BaseModel):
    """A list of one user's memories, or a question about them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: str = ""
    """The user, as the administrator named them."""
    query: str = ""
    """What is searched for; already redacted."""
    type: Literal[MemoryType, ""] = ""
    tag: str = ""
    on: date | None = None
    """What held on this day; None: what holds now."""
    question: str = ""
    """What is asked to see what it would recall; already redacted."""
    app_name: str = "default"
    """In which application it is asked."""


class Views:
    """Seals and opens views."""

    def __init__(self, session_key: bytes) -> None:
        """Seal under a key derived from `session_key`.

        Raises:
            ConfigurationError: `session_key` is too short.
        """
        self._keys = Keyring([Key("view", derive(session_key, "view"))])

    def seal(self, view: View, session: AdminSession) -> str:
        """Return `view` as a part of an address that only `session` can open."""
        sealed = seal(view.model_dump_json(exclude_defaults=True).encode(), _owner(session), self._keys)
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def open(self, sealed: str, session: AdminSession) -> View:
        """Return the view; the default one if `sealed` is empty, of another session, or was changed."""
        try:
            padded = sealed.encode("ascii") + b"=" * (-len(sealed) % 4)
            return View.model_validate_json(unseal(base64.urlsafe_b64decode(padded), _owner(session), self._keys))
        except (EncryptionError, ValidationError, binascii.Error, UnicodeEncodeError):
            return View()


def _owner(session: AdminSession) -> bytes:
    return associate("discreet admin view", session.id)

"""What somebody looks for, sealed, so that an address (and any log of addresses) shows none of it."""

from __future__ import annotations

import base64
import binascii
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from discreet.api.pages.sessions import PageSession, derive
from discreet.encryption import Keyring, associate, seal, unseal
from discreet.errors import EncryptionError
from discreet.ports import Key

View = TypeVar("View", bound=BaseModel)


class SealedViews:
    """Seals and opens views: models whose fields all have defaults."""

    def __init__(self, session_key: bytes, area: str) -> None:
        """Seal for the pages of `area` under a key derived from `session_key`.

        Raises:
            ConfigurationError: `session_key` is too short.
        """
        self._keys = Keyring([Key("view", derive(session_key, area, "view"))])
        self._area = area

    def seal(self, view: BaseModel, session: PageSession) -> str:
        """Return `view` as a part of an address that only `session` can open."""
        sealed = seal(view.model_dump_json(exclude_defaults=True).encode(), self._owner(session), self._keys)
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def open(self, kind: type[View], sealed: str, session: PageSession) -> View:
        """Return the view; the default one of its `kind` if `sealed` is empty, of another session, or was changed."""
        try:
            padded = sealed.encode("ascii") + b"=" * (-len(sealed) % 4)
            return kind.model_validate_json(unseal(base64.urlsafe_b64decode(padded), self._owner(session), self._keys))
        except (EncryptionError, ValidationError, binascii.Error, UnicodeEncodeError):
            return kind()

    def _owner(self, session: PageSession) -> bytes:
        return associate(f"discreet {self._area} view", session.id)

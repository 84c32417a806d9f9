"""API keys: random texts of which the settings know digests only."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable

from discreet.access.subjects import check_subject
from discreet.errors import ConfigurationError, UnauthorisedError

KEY_PREFIX = "dk_"
"""Tells people and scanners what it is."""

KEY_BYTES = 32
"""Of chance. So many need no slow digest: nobody tries 2**256 texts."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


class ApiKeys:
    """Tell whose a key is, by entries `subject:sha256`. A subject may hold colons, and have several keys."""

    def __init__(self, entries: Iterable[str]) -> None:
        """Read the entries.

        Raises:
            ConfigurationError: One is something else; it is named by its number, not quoted.
        """
        self._subjects: dict[bytes, str] = {}
        for number, entry in enumerate(entries, start=1):
            subject, digest = _read(entry, number)
            if self._subjects.setdefault(digest, subject) != subject:
                raise ConfigurationError(f"Entry {number} of DISCREET_API_KEYS has the key of somebody else's entry.")

    def __bool__(self) -> bool:
        return bool(self._subjects)

    def subject(self, key: str) -> str | None:
        """Return whose `key` is, or None. It takes as long whichever of the keys it is, and if it is none."""
        given = _digest(key)
        found = None
        for digest, subject in self._subjects.items():
            if hmac.compare_digest(digest, given):
                found = subject
        return found


def make_api_key(subject: str) -> tuple[str, str]:
    """Return a new key for `subject`, and the entry of DISCREET_API_KEYS that lets it in.

    Raises:
        UnauthorisedError: The subject can't be used.
    """
    key = KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)
    return key, f"{check_subject(subject)}:{_digest(key).hex()}"


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def _read(entry: str, number: int) -> tuple[str, bytes]:
    subject, _, digest = entry.rpartition(":")
    try:
        check_subject(subject)
    except UnauthorisedError as error:
        raise ConfigurationError(f"Entry {number} of DISCREET_API_KEYS can't be used. {error}") from None
    if not _DIGEST.fullmatch(digest):
        raise ConfigurationError(
            f"Entry {number} of DISCREET_API_KEYS must be subject:sha256, as `discreet key --api SUBJECT` makes it."
        )
    return subject, bytes.fromhex(digest)

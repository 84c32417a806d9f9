"""Ids of users and threads that hold personal data or a secret: refused where they come in, or known by a keyed digest.

A thread_id stands in many rows as it is, and both are in logs and keys of caches. What may stand there is decided here alone, by
DISCREET_SENSITIVE_IDS.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Final, Literal

from discreet.access.identity import Identities, is_identity, load_identities
from discreet.errors import InvalidThreadError, SensitiveIdError
from discreet.redaction.configured import redactor_of_ids
from discreet.redaction.thread_offload import read_apart
from discreet.settings import Settings, load_settings
from discreet.state.ids import check_thread_id, check_user_id

MOST_KNOWN: Final = 20_000
"""Ids of which is remembered whether they are sensitive: to look takes 1 to 3 ms."""

RANDOM = re.compile(
    r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|(?=[0-9]*[a-f])[0-9a-f]{16,128})(?![0-9A-Za-z])"
)
"""UUIDs, and hexadecimal with a letter in it: digits in these are no numbers of anybody. One ObjectId in 200 has what reads as a
telephone number."""

WRITTEN_NONE: Final = frozenset(map(str, (None, True, False)))
"""What LangGraph calls a thread whose id is None, True or False: it writes out whatever it is given. All who forget theirs would share it."""

Finds = Callable[[str], str | None]
"""Returns the type of what is sensitive in an id; None: nothing is."""


class SensitiveIds:
    """Says under which ids things are stored.

    Example:
        >>> refusing = SensitiveIds(lambda id: "EMAIL" if "@" in id else None)
        >>> refusing.user_id("ann"), refusing.user_id("ann@example.com", stores=False)
        ('ann', 'ann@example.com')
        >>> hashing = SensitiveIds(lambda id: "EMAIL" if "@" in id else None, Identities(bytes(32)))
        >>> hashing.user_id("ann@example.com")
        'u_mckkknmdrtqsqrdbjcplhrbqttcmsqgbfltqqjlb'
    """

    def __init__(self, finds: Finds, identities: Identities | None = None) -> None:
        """Refuse what `finds` something in; with `identities` make a digest of it instead."""
        self._finds = lru_cache(MOST_KNOWN)(finds)
        self._identities = identities

    def user_id(self, user_id: object, *, stores: bool = True) -> str:
        """Return the user_id that a user's things are stored under. It is the one that a server knows a caller of this name by.

        `stores`: whether something is to be stored. What is only read or deleted is found by whatever id it has.

        Raises:
            InvalidUserError: It can't be one.
            SensitiveIdError: It holds a sensitive value, and such ids are refused.
        """
        checked = check_user_id(user_id)
        if is_identity(checked) or not self._acts("user_id", checked, stores=stores):
            return checked
        return checked if self._identities is None else self._identities.of(checked)

    def thread_id(self, thread_id: object, *, stores: bool = True) -> str:
        """Return the thread_id that a conversation is stored under. For `stores` see `user_id`.

        Raises:
            InvalidThreadError: It can't be one, or is what LangGraph makes of None, True or False, and something is to be stored.
            SensitiveIdError: It holds a sensitive value, and such ids are refused.
        """
        checked = check_thread_id(thread_id)
        if stores and checked in WRITTEN_NONE:
            raise InvalidThreadError
        if is_identity(checked, of="thread") or not self._acts("thread_id", checked, stores=stores):
            return checked
        return checked if self._identities is None else self._identities.of_thread(checked)

    def found_in(self, given: str) -> str | None:
        """Return the type of a sensitive value that an id holds, such as `EMAIL`; None: none."""
        return self._finds(given)

    def refuses(self, given: str) -> bool:
        """Tell whether nothing can be stored under an id."""
        return self._identities is None and self._finds(given) is not None

    def _acts(self, kind: Literal["user_id", "thread_id"], given: str, *, stores: bool) -> bool:
        """Tell whether an id is to be replaced.

        Raises:
            SensitiveIdError: It is to be refused.
        """
        if self._identities is None and not stores:
            return False
        found = self._finds(given)
        if found is not None and self._identities is None:
            raise SensitiveIdError(kind, found)
        return found is not None


ANY_ID: Final = SensitiveIds(lambda _id: None)
"""Takes every id as it is."""


def load_sensitive_ids(settings: Settings) -> SensitiveIds:
    """Return what the settings say of ids. Recognisers are loaded with the first id that is looked at.

    Raises:
        ConfigurationError: The identity key, or a recogniser, can't be used.
    """
    redactor = cache(lambda: redactor_of_ids(settings))

    def finds(given: str) -> str | None:
        rest = RANDOM.sub("", given)
        found = redactor().findings(rest) if rest else []
        return found[0].type if found else None

    return SensitiveIds(finds, load_identities(settings) if settings.sensitive_ids == "hash" else None)


@cache
def default_sensitive_ids() -> SensitiveIds:
    """Return what this process's settings say, see `load_sensitive_ids`."""
    return read_apart(lambda: load_sensitive_ids(load_settings()))

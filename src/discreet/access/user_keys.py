"""The keys of users in the tables: digests of their ids under a secret key that is never in that database.

Who has the database and not the key can neither tell whose a row is nor try names. The same key makes what stands for the words
that memories are found by, so that no list of words tells which were said.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from functools import cache, lru_cache
from uuid import UUID

from discreet.access.identity import Identities, load_identities
from discreet.access.sensitive_ids import ANY_ID, SensitiveIds, load_sensitive_ids
from discreet.erased import Erased, on_erasure
from discreet.redaction.thread_offload import read_apart
from discreet.settings import Settings, load_settings

_BYTES = 16

MAX_KEYS = 5_000
"""Keys of users and threads kept: a turn has the same ones made some ten times."""

MAX_CACHED = 50_000
"""Digests of tokens kept, some 8 MB: a save of a hundred memories has 1,500, which take 2 ms to make."""


class UserKeys:
    """Make the keys of users, of conversations without one, and of namespaces of the store.

    Example:
        >>> keys = UserKeys(Identities(bytes(32)))
        >>> keys.of_user("ann") == keys.of_user("ann"), keys.of_user("ann") == keys.of_user("bob")
        (True, False)
    """

    def __init__(self, identities: Identities, ids: SensitiveIds = ANY_ID) -> None:
        """Derive them from the identity key. Identities in tokens, logs and audits are other digests of it.

        `ids` says which ids are stored as they are, and stands for the others.
        """
        self.ids = ids
        self._key = identities.key_for("user keys")
        self._digest = lru_cache(MAX_KEYS)(self._keyed_digest)
        on_erasure(self._forget)
        self._token_key = identities.key_for("tokens")
        self.token_digest: Callable[[str], int] = lru_cache(MAX_CACHED)(self._token_digest)
        """Returns 64 bits that stand for a token of a text wherever the database knows words."""
        self.audit_key = identities.key_for("audit")
        """Of the digests that tie the audit trail together."""
        self.entries_key = identities.key_for("memory entries")
        """Of the sums that say which memories a user has."""
        self.receipt_key = identities.key_for("erasure receipts")
        """Of the signatures of receipts."""
        self.plan_key = identities.key_for("erasure plans")
        """Of what is still to be erased, sealed."""
        self.fingerprint = self._digest("check", "")
        """Tells whether two processes have the same key, and nothing else of it."""

    def of_user(self, user_id: str) -> UUID:
        """Return the key of a user: 128 bits. Whoever stores something under it asks `ids` before."""
        return self._digest("user", self.ids.user_id(user_id, stores=False))

    def of_thread(self, thread_id: str) -> UUID:
        """Return the key of whoever speaks in a thread that no user is known of."""
        return self._digest("thread", self.ids.thread_id(thread_id, stores=False))

    def of_namespace(self, path: str) -> UUID:
        """Return the key of a namespace of the store."""
        return self._digest("namespace", path)

    def of(self, user_id: str | None, thread_id: str) -> UUID:
        """Return the key of a user, else of the thread."""
        return self.of_thread(thread_id) if user_id is None else self.of_user(user_id)

    def _token_digest(self, token: str) -> int:
        digest = hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8, key=self._token_key)
        return int.from_bytes(digest.digest())

    def _forget(self, _: Erased) -> None:
        """Hold no id of somebody who was erased; each of the others' is digested once more."""
        self._digest.cache_clear()

    def _keyed_digest(self, kind: str, name: str) -> UUID:
        message = f"{kind}\0{name}".encode("utf-8", "surrogatepass")
        return UUID(bytes=hmac.digest(self._key, message, "sha256")[:_BYTES])


def load_user_keys(settings: Settings) -> UserKeys:
    """Return the keys of DISCREET_IDENTITY_KEY, else of a key file in the data folder, which is made if there is none.

    Raises:
        ConfigurationError: The key can't be used, or can't be kept.
    """
    return UserKeys(load_identities(settings), load_sensitive_ids(settings))


def user_keys_of(connections: object) -> Callable[[], UserKeys]:
    """Return what gives the keys of the storage whose pool `connections` are, else those of this process's settings."""
    keys: UserKeys | None = getattr(connections, "user_keys", None)  # of a pool of ours, once a storage is open
    return default_user_keys if keys is None else lambda: keys


@cache
def default_user_keys() -> UserKeys:
    """Return the keys of this process's settings, see `load_user_keys`."""
    return read_apart(lambda: load_user_keys(load_settings()))

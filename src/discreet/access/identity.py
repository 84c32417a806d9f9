"""What the database knows a person by: a keyed digest of what their token or key names them."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final, Literal

from discreet.errors import ConfigurationError
from discreet.redaction.key_file import KeyFile
from discreet.settings import Settings

IDENTITY_KEY: Final = KeyFile(name="identity.key", variable="DISCREET_IDENTITY_KEY", made_by="discreet key --identity")

DIGEST_BYTES = 20
"""160 bits: nobody finds two subjects with one identity (2**80 tries), and it is short enough for any index."""

LETTERS: Final = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")
"""Hexadecimal digits in consonants. With digits in it, as in base32, one identity in four reads as a secret, and would be
masked wherever it goes by a redactor; consonants alone make neither that nor a word."""

_FORMS: Final = {kind: re.compile(rf"{kind[0]}_[b-df-hj-np-t]{{40}}") for kind in ("user", "thread")}


class Identities:
    """Make subjects opaque under one key. Who doesn't have it can't tell whose an identity is, nor try names.

    Example:
        >>> Identities(bytes(32)).of("ann@example.com")
        'u_mckkknmdrtqsqrdbjcplhrbqttcmsqgbfltqqjlb'
    """

    def __init__(self, key: bytes) -> None:
        self._master = key
        self._key = self.key_for("identity")
        self._thread_key = self.key_for("thread ids")

    def of(self, subject: str) -> str:
        """Return the identity of `subject`: `u_` and 40 letters, the same wherever the key is the same."""
        return f"u_{_digest(self._key, subject)}"

    def of_thread(self, thread_id: str) -> str:
        """Return what stands for a thread_id that can't be stored as it is: `t_` and 40 letters, likewise."""
        return f"t_{_digest(self._thread_key, thread_id)}"

    def key_for(self, purpose: str) -> bytes:
        """Return 32 bytes for something else that all servers have to agree on; they tell nothing of other keys."""
        from cryptography.hazmat.primitives.hashes import SHA256  # a node alone makes no identities
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return HKDF(SHA256(), length=32, salt=None, info=f"discreet {purpose} 1".encode()).derive(self._master)


def _digest(key: bytes, name: str) -> str:
    digest = hmac.digest(key, name.encode("utf-8", "surrogatepass"), hashlib.sha256)
    return digest[:DIGEST_BYTES].hex().translate(LETTERS)


def is_identity(text: str, *, of: Literal["user", "thread"] = "user") -> bool:
    """Tell whether `text` has the form of an identity."""
    return _FORMS[of].fullmatch(text) is not None


def load_identities(settings: Settings) -> Identities:
    """Return what makes subjects opaque, by DISCREET_IDENTITY_KEY, else by a key file in the data folder.

    The key is made if there is none. Servers that share a database need the same one.

    Raises:
        ConfigurationError: The key can't be used, or can't be kept: with another one at the next start nobody would find
            what is theirs.
    """
    try:
        return Identities(IDENTITY_KEY.load(settings.identity_key, settings.data_dir))
    except OSError as error:
        raise ConfigurationError(
            f"The key that makes identities can't be kept in the data folder ({type(error).__name__}). Set "
            "DISCREET_IDENTITY_KEY, or a DISCREET_DATA_DIR that can be written to."
        ) from error

"""`discreet key`: random bytes as DISCREET_ENCRYPTION_KEYS or DISCREET_PLACEHOLDER_KEY takes them."""

from __future__ import annotations

from discreet.encryption import make_key, write_key
from discreet.redaction.placeholder_key import make_placeholder_key


def run_key(*, placeholder: bool = False) -> None:
    """Print a new key and nothing else, so that a script can put it in front of the old ones.

    With `placeholder` it is one for DISCREET_PLACEHOLDER_KEY.
    """
    print(make_placeholder_key() if placeholder else write_key(make_key()))

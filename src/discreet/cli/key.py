"""`discreet key`: 32 random bytes and an id, as DISCREET_ENCRYPTION_KEYS takes them."""

from __future__ import annotations

from discreet.encryption import make_key, write_key


def run_key() -> None:
    """Print a new key and nothing else, so that a script can put it in front of the old ones."""
    print(write_key(make_key()))

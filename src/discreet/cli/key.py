"""`discreet key`: random keys as the settings take them."""

from __future__ import annotations

from discreet.access.api_keys import make_api_key
from discreet.encryption import make_key, write_key
from discreet.redaction.key_file import make_key_text


def run_key(*, placeholder: bool = False, identity: bool = False, api: str | None = None) -> None:
    """Print a new key and nothing else, so that a script can put it in front of the old ones.

    With `placeholder` or `identity` it is one for DISCREET_PLACEHOLDER_KEY or DISCREET_IDENTITY_KEY. With `api` it is an API key
    for that subject, and in a second line the entry of DISCREET_API_KEYS that lets it in; the key can't be had again from that.

    Raises:
        UnauthorisedError: The subject can't be used.
    """
    if api is not None:
        print("\n".join(make_api_key(api)))
    else:
        print(make_key_text() if placeholder or identity else write_key(make_key()))

"""`discreet token`: bearer tokens for trying the server out."""

from __future__ import annotations

from datetime import timedelta

from discreet.access.development import token_for
from discreet.settings import load_settings


def run_token(subject: str, *, admin: bool, days: float) -> None:
    """Print a token that names `subject`, and nothing else.

    Raises:
        ConfigurationError: Tokens are signed elsewhere.
        UnauthorisedError: The subject can't be used.
    """
    print(token_for(load_settings(), subject, admin=admin, ttl=timedelta(days=days)))

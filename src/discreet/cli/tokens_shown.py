"""Who may call a server that was started here to try it out. Tokens are shown on a terminal, and nowhere else."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from rich.console import Console

from discreet.access.development import configured, development_secret, token_for
from discreet.settings import Settings

DEVELOPER = "developer"
"""Who a token is made for if nobody says for whom. May change settings."""


def access_environment(settings: Settings, subjects: Sequence[str]) -> dict[str, str]:
    """Return what a server is started with, so that it takes tokens of `subjects`: nothing where the settings say who may call.

    Raises:
        ConfigurationError: The secret for development can't be kept.
    """
    if configured(settings) or (settings.allow_anonymous and not subjects):
        return {}
    return {"DISCREET_JWT_SECRET": development_secret(settings)}


def show_access(settings: Settings, subjects: Sequence[str], console: Console) -> bool:
    """Say on `console` how callers are known, and on a terminal print a token for each of `subjects`; tell whether one was.

    Output that goes to a file or a pipe gets none: logs are kept, and read by others.

    Raises:
        ConfigurationError: Tokens are signed elsewhere.
        UnauthorisedError: A subject can't be used.
    """
    if settings.allow_anonymous and not subjects:
        console.print("Requests from this machine need no token (DISCREET_ALLOW_ANONYMOUS).")
        return False
    if configured(settings) and not subjects:
        console.print("Requests need a token or an API key, as your settings say.")
        return False
    subjects = subjects or (DEVELOPER,)
    if not sys.stdout.isatty():
        commands = ", ".join(_command(subject) for subject in subjects)
        console.print(f"Tokens are shown on a terminal only. To get one: {commands}", markup=False, soft_wrap=True)
        return False
    for subject in subjects:
        console.print(f"Token of {subject}, who is one user:", markup=False)
        print(token_for(settings, subject, admin=subject == DEVELOPER), flush=True)
    return True


def _command(subject: str) -> str:
    return shlex.join(["discreet", "token", subject, *(["--admin"] if subject == DEVELOPER else [])])

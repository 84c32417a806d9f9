"""Who calls: bearer tokens, API keys, and the opaque identity that the database knows a person by."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from discreet.access.caller import Caller
from discreet.access.run_user import run_user  # at once: found later, it would be the module of that name

if TYPE_CHECKING:
    from discreet.access.authenticator import Authenticator, default_authenticator

__all__ = ["Authenticator", "Caller", "default_authenticator", "run_user"]

_MODULES = {"Authenticator": "authenticator", "default_authenticator": "authenticator"}


def __getattr__(name: str) -> object:
    """Load what is asked for: a command that only starts a server need not wait for what checks tokens."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

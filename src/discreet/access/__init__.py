"""Who calls: bearer tokens, API keys, and the opaque identity that the database knows a person by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.access.caller import Caller
from discreet.access.run_user import run_user  # at once: found later, it would be the module of that name
from discreet.lazy_names import loaded_on_demand

if TYPE_CHECKING:
    from discreet.access.authenticator import Authenticator, default_authenticator

__all__ = ["Authenticator", "Caller", "default_authenticator", "run_user"]

__getattr__ = loaded_on_demand(__name__, {"Authenticator": "authenticator", "default_authenticator": "authenticator"})

"""Who calls: bearer tokens, API keys, and the opaque identity that the database knows a person by."""

from discreet.access.authenticator import Authenticator, default_authenticator
from discreet.access.caller import Caller
from discreet.access.run_user import run_user

__all__ = ["Authenticator", "Caller", "default_authenticator", "run_user"]

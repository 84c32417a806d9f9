"""Who owns what in a LangGraph server: its `auth`, and the routes that it leaves open."""

from discreet.api.auth.closed import ClosedPaths
from discreet.api.auth.making import make_auth

__all__ = ["ClosedPaths", "make_auth"]

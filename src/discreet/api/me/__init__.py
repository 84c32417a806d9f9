"""The page of a user's own memories: see, correct, forget and take away what is kept of oneself."""

from discreet.api.me.router import make_me_router

__all__ = ["make_me_router"]

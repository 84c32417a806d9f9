"""The admin page: settings and their history, one user's memories, and why something was recalled."""

from discreet.api.admin.router import make_admin_router

__all__ = ["make_admin_router"]

"""The admin page: settings and their history, one user's memories, why something was recalled, and background memory."""

from discreet.api.admin.router import make_admin_router

__all__ = ["make_admin_router"]

"""Roles with no more rights than they need, and the policies by which the database keeps users apart."""

from discreet.storage.database.roles.applying import RolesApplied, apply_roles, refresh_roles, role_statements
from discreet.storage.database.roles.looking import foreign_to, is_application, is_as_applied
from discreet.storage.database.roles.names import RoleNames

__all__ = [
    "RoleNames",
    "RolesApplied",
    "apply_roles",
    "foreign_to",
    "is_application",
    "is_as_applied",
    "refresh_roles",
    "role_statements",
]

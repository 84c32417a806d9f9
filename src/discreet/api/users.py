"""Whose memories a request is about."""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreet.access import Caller, run_user
from discreet.api.services import Services


@dataclass(frozen=True)
class User:
    """A person, as the database knows them and as the caller does."""

    identity: str
    """Opaque: what the database knows them by."""
    shown: str
    """What answers to this caller name them."""


def user_of(services: Services, caller: Caller, named: str | None) -> User:
    """Return whom a request of `caller` is about that names `named`, or nobody: the caller then.

    Raises:
        ForbiddenError: It is somebody else.
        InvalidUserError: The name can't be used.
    """
    identity = run_user(caller, named, services.authenticator.identity)
    return User(identity, caller.subject if named is None else named)


def any_user_of(services: Services, caller: Caller, named: str | None) -> User:
    """Return whom a request is about, as `user_of`; of an administrator it may be about anybody.

    Raises:
        ForbiddenError: It is somebody else, and the caller is no administrator.
        InvalidUserError: The name can't be used.
    """
    return user_of(services, replace(caller, names_users=True) if caller.admin else caller, named)

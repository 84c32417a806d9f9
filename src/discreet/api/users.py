"""Whose memories a request is about."""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreet.access.actor import read_as_delegate
from discreet.access.caller import Caller
from discreet.access.identity import is_identity
from discreet.access.run_user import run_user
from discreet.api.services import Services
from discreet.state.ids import check_user_id


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


async def read_user_of(services: Services, caller: Caller, named: str | None) -> User:
    """Return whose entries a request reads: those of `user_of`, or of somebody who lets the caller read theirs.

    Raises:
        ForbiddenError: It is somebody else, who does not, or not any more.
        InvalidUserError: The name can't be used.
        StorageError: The database failed.
    """
    if named is not None and services.delegations is not None:
        user = User(identity_of(services, named), named)
        if user.identity != caller.identity:
            delegate_key = await services.delegations.may_read(caller.identity, user.identity)
            if delegate_key is not None:
                read_as_delegate(delegate_key)
                return user
    return user_of(services, caller, named)


def identity_of(services: Services, named: str) -> str:
    """Return what the database knows by a name, or an identity, of anybody.

    Raises:
        InvalidUserError: The name can't be used.
    """
    checked = check_user_id(named)
    return checked if is_identity(checked) else services.authenticator.identity(checked)

"""Whose memories a run is about."""

from __future__ import annotations

import re
from collections.abc import Callable

from discreet.access.caller import Caller
from discreet.errors import ForbiddenError
from discreet.state.context import check_user_id

IDENTITY = re.compile(r"u_[a-z2-7]{32}")
"""What identities look like."""


def run_user(caller: Caller, named: object, identity: Callable[[str], str]) -> str:
    """Return the opaque identity of the user of a run: the caller's.

    `named` is the user_id that the request says, None if it says none. Only callers that nobody vouches for, on this
    machine, may name others. What was an identity already stays: the rule may be applied twice. `identity` makes one.

    Raises:
        ForbiddenError: Somebody else was named.
        InvalidUserError: It can't be used.
    """
    if named is None or named in (caller.subject, caller.identity):
        return caller.identity
    if not caller.names_users:
        raise ForbiddenError("The user_id is somebody else's. Leave it out: it is taken from your credentials.")
    user_id = check_user_id(named)
    return user_id if IDENTITY.fullmatch(user_id) else identity(user_id)

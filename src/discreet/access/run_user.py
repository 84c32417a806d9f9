"""Whose memories a run works with."""

from __future__ import annotations

from collections.abc import Callable

from discreet.access.caller import Caller
from discreet.access.identity import is_identity
from discreet.errors import ForbiddenError
from discreet.state.ids import check_user_id

NOT_YOURS = "The request names another user. Leave user_id out, or name yourself."


def run_user(caller: Caller, named: object, identity: Callable[[str], str]) -> str:
    """Return the identity whose memories a run of `caller` works with, if its request names `named` as the user.

    `identity` makes a subject opaque. Callers may name themselves by either. Those who may name others
    do so by a name, or by an identity, which stays as it is: the rule may be applied twice.

    Raises:
        ForbiddenError: The request names somebody else.
        InvalidUserError: The name can't be used.

    Example:
        >>> ann = Caller(subject="ann", identity="u_1")
        >>> run_user(ann, "ann", {"ann": "u_1", "bob": "u_2"}.__getitem__)
        'u_1'
        >>> run_user(ann, "bob", {"ann": "u_1", "bob": "u_2"}.__getitem__)
        Traceback (most recent call last):
        discreet.errors.ForbiddenError: The request names another user. Leave user_id out, or name yourself.
    """
    if named is None or named == caller.identity:
        return caller.identity
    checked = check_user_id(named)
    if caller.names_users:
        return checked if is_identity(checked) else identity(checked)
    theirs = identity(checked)
    if theirs == caller.identity:
        return caller.identity
    raise ForbiddenError(NOT_YOURS, whose=checked if is_identity(checked) else theirs)

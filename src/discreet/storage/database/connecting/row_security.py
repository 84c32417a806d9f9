"""For whom a statement is, where the database itself keeps users apart: told in the statement's own transaction.

The policies of docs/roles.md show a role of the application no rows but those of the user that the parameter
`discreet.user_key` names, and none while it names nobody: so the connection refuses what names nobody before it goes out.
The parameter is set for one transaction, so that a connection carries nobody over to its next borrower, behind a pooler too;
and as a message of its own in one round trip with the statement, never as part of its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

from psycopg.sql import SQL, Composed, Literal

from discreet.row_security import HAND_ON

Users = frozenset[UUID]
"""Those whose rows a statement is about."""

_NAME_ONE: LiteralString = "SELECT set_config('discreet.user_key', %s, true)"
_NAME_ONE_AGAIN: LiteralString = "SELECT set_config('role', 'none', true), set_config('discreet.user_key', %s, true)"
_NAME_FOR_DELEGATE: LiteralString = "SELECT discreet.read_for(%s, %s)"
_NAME_SEVERAL: LiteralString = "SELECT set_config('role', {role}, true), set_config('discreet.user_key', %s, true)"


class Message(NamedTuple):
    """A statement to send before the one that is meant."""

    query: LiteralString | SQL | Composed
    params: Sequence[Any] | None = None


def users_of(params: object) -> Users | None:
    """Return whom a statement with these parameters is about: who `user_key` or `user_keys` name. None: nobody in particular."""
    if not isinstance(params, Mapping):
        return None
    several: Iterable[UUID] | None = params.get("user_keys")
    if several:
        return frozenset(several)
    one = params.get("user_key")
    return None if one is None else frozenset((one,))


def telling(users: Users, before: Users | None, several_role: str | None, delegate: UUID | None = None) -> Message:
    """Return what names `users` for a transaction in which those `before` were named.

    To read the rows of several at once takes another role, whose policy allows that: with one policy for both the
    planner could not tell that all rows are of one user, and would ask for each of them. For a `delegate` the database
    looks whether the user lets them read, and has the transaction write nothing.
    """
    named = ",".join(sorted(map(str, users)))
    if len(users) > 1 and several_role is not None:
        return Message(SQL(_NAME_SEVERAL).format(role=Literal(several_role)), (named,))
    if delegate is not None and users != {delegate}:
        return Message(_NAME_FOR_DELEGATE, (named, delegate))
    return Message(_NAME_ONE_AGAIN if before is not None and len(before) > 1 else _NAME_ONE, (named,))


def telling_cluster(
    users: Users, before: Users | None, several_role: str | None, delegate: UUID | None = None
) -> list[Message]:
    """Do the same for a Citus cluster, which hands on to its nodes what SET LOCAL sets, if it is told to. It takes no parameters."""
    named = Literal(",".join(sorted(map(str, users))))
    told = [Message(HAND_ON), Message(SQL("SET LOCAL discreet.user_key = {}").format(named))]
    if len(users) > 1 and several_role is not None:
        told.insert(0, Message(SQL("SET LOCAL ROLE {}").format(Literal(several_role))))
    elif delegate is not None and users != {delegate}:
        told.insert(0, telling(users, None, None, delegate))
    elif before is not None and len(before) > 1:
        told.insert(0, Message(SQL("SET LOCAL ROLE NONE")))
    return told

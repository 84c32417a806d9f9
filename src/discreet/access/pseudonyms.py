"""Who acts, as the audit trail may name them."""

from __future__ import annotations

from uuid import UUID

from discreet.access.actor import Actor
from discreet.access.identity import is_identity
from discreet.access.user_keys import UserKeys


def pseudonym_of(actor: Actor, keys: UserKeys) -> str | None:
    """Return an identity as it is, and for whatever else an actor is called by the key that a user of that id has."""
    if actor.identity is None or is_identity(actor.identity):
        return actor.identity
    return str(keys.of_user(actor.identity))


def is_own(actor: Actor, user_key: UUID, keys: UserKeys) -> bool:
    """Tell whether what is this person's is the actor's own, or the actor a program that works for its owners."""
    if actor.identity is None:
        return actor.kind in {"user", "worker", "mcp"}
    return keys.of_user(actor.identity) == user_key

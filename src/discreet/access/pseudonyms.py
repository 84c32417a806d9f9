"""Who acts, as the audit trail may name them."""

from __future__ import annotations

from uuid import UUID

from discreet.access.actor import Actor
from discreet.access.identity import is_identity
from discreet.access.user_keys import UserKeys
from discreet.shown_keys import shown_key


def pseudonym_of(actor: Actor, keys: UserKeys) -> str | None:
    """Return what stands for an actor, see `pseudonym`; None for the user themselves."""
    return None if actor.identity is None else pseudonym(actor.identity, keys)


def pseudonym(name: str, keys: UserKeys) -> str:
    """Return an identity as it is, and for any other name a digest of the key that a user of that id has, never the key itself."""
    return name if is_identity(name) else str(shown_key(keys.of_user(name)))


def is_own(actor: Actor, user_key: UUID, keys: UserKeys) -> bool:
    """Tell whether what is this person's is the actor's own, or the actor a program that works for its owners."""
    if actor.identity is None:
        return actor.kind in {"user", "worker", "mcp"}
    return keys.of_user(actor.identity) == user_key

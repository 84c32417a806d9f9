"""Whose a thing is: in its metadata, where no client can write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langgraph_sdk.auth import Auth

from discreet.access.caller import Caller
from discreet.access.run_user import run_user
from discreet.api.auth.callers import Value, refusal
from discreet.errors import AccessError, InputError

OWNER = "owner"
"""Key of metadata that says whose a thread, a run, an assistant or a cron is."""

CREATED_BY = "created_by"
"""Key of an assistant's metadata by which the server knows its own, which everybody sees."""

SYSTEM = "system"

_SERVERS_OWN = "langgraph_auth_"
"""How keys of `configurable` begin in which the server keeps who calls. It reads them from a cron as they stand there."""

USER = "user_id"


def owned_by(caller: Caller) -> Auth.types.FilterType:
    """Return the filter that leaves what is the caller's."""
    return {OWNER: caller.identity}


def own(value: Value, caller: Caller) -> None:
    """Write into the metadata that it is the caller's, over whatever a client wrote. The server uses the same object."""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        metadata = value["metadata"] = {}
    metadata.pop(CREATED_BY, None)
    metadata[OWNER] = caller.identity


def own_if_given(value: Value, caller: Caller) -> None:
    """Do as `own` where metadata are changed at all."""
    if isinstance(value.get("metadata"), dict):
        own(value, caller)


def named_user(values: dict[str, Any], caller: Caller, identity: Callable[[str], str]) -> str:
    """Return the user of a run whose `configurable` or context this is.

    Raises:
        HTTPException: Somebody else is named, or nobody can be called so.
    """
    try:
        return run_user(caller, values.get(USER), identity)
    except (AccessError, InputError) as error:
        raise refusal(error) from None


def check_user(values: object, caller: Caller, identity: Callable[[str], str]) -> None:
    """Name the caller by their identity in what is kept for later runs, if a user is named there.

    Raises:
        HTTPException: As `named_user`.
    """
    if isinstance(values, dict):
        for key in [key for key in values if key.startswith(_SERVERS_OWN)]:
            del values[key]
        if USER in values:
            values[USER] = named_user(values, caller, identity)

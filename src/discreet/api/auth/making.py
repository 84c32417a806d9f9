"""Make the `auth` of a LangGraph server."""

from __future__ import annotations

from langgraph_sdk.auth import Auth

from discreet.api.actors import Denials
from discreet.api.auth.assistants import AssistantHandlers
from discreet.api.auth.callers import Callers, Ctx, Value
from discreet.api.auth.crons import CronHandlers
from discreet.api.auth.kept_threads import ThreadOwner, thread_owner
from discreet.api.auth.store import StoreHandlers
from discreet.api.auth.threads import RunExists, ThreadHandlers, run_exists
from discreet.api.services import Authenticates


def make_auth(
    authenticator: Authenticates,
    *,
    run_exists: RunExists = run_exists,
    owner_of: ThreadOwner = thread_owner,
    denials: Denials | None = None,
) -> Auth:
    """Return the `auth` of a server where everybody has their own threads, runs, assistants, crons and items.

    What no handler knows is refused: an action that a newer server has may touch what is somebody's.

    Args:
        authenticator: Tells who calls.
        run_exists: Whether a thread has a run. Default: ask the server.
        owner_of: Whose checkpoints a thread has. Default: ask the checkpointer's tables.
        denials: Hears whose credentials were refused.
    """
    auth = Auth()
    callers = Callers(authenticator, denials)
    auth.authenticate(callers.authenticate)
    auth.on(refuse_all)
    ThreadHandlers(callers, run_exists, owner_of).register(auth)
    AssistantHandlers(callers).register(auth)
    CronHandlers(callers).register(auth)
    StoreHandlers(callers).register(auth)
    return auth


async def refuse_all(ctx: Ctx, value: Value) -> bool:  # noqa: ARG001  # the server calls by name
    """Refuse what no other handler knows."""
    return False

"""The `auth` of Aegra: the rules of `discreet.api.auth`, in the forms in which it asks.

Aegra itself looks at rows of the caller's identity only (`user_id`); what is here decides whose memories a run works with,
and is a second lock where Aegra takes a filter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langgraph_sdk.auth import Auth

from discreet.api.actors import Denials
from discreet.api.aegra.arriving import arriving
from discreet.api.auth.assistants import AssistantHandlers
from discreet.api.auth.callers import Callers, Ctx, Value
from discreet.api.auth.making import refuse_all
from discreet.api.auth.owners import USER, check_user, named_user, own, owned_by
from discreet.api.auth.store import StoreHandlers
from discreet.api.auth.threads import ThreadHandlers
from discreet.api.services import Authenticates

PERMISSIONS = "langgraph_auth_permissions"
"""Where graphs read what their caller may do. `Narrowed` lets no client write it."""


def make_auth(authenticator: Authenticates, *, denials: Denials | None = None) -> Auth:
    """Return the `auth` of a server where everybody has their own threads, runs, assistants, crons and items.

    What no handler knows is refused. Requests have to come through `Arriving`.
    """
    auth = Auth()
    callers = Callers(authenticator, denials)

    async def authenticate(headers: Mapping[str, str]) -> Mapping[str, Any]:  # noqa: ARG001  # of repeated ones it has the last
        return await callers.authenticate(arriving())

    auth.authenticate(authenticate)
    auth.on(refuse_all)
    AegraThreads(callers).register(auth)
    AssistantHandlers(callers).register(auth)
    AegraCrons(callers).register(auth)
    StoreHandlers(callers).register(auth)
    return auth


class AegraThreads(ThreadHandlers):
    """Threads and their runs. A run's row is looked for by thread and owner before anything is deleted."""

    def __init__(self, callers: Callers) -> None:
        super().__init__(callers, _exists)

    async def create(self, ctx: Ctx, value: Value) -> Auth.types.FilterType:
        """Make it the caller's. Ids are UUIDs: Aegra takes any text, which would be a name in rows and logs.

        Raises:
            HTTPException: The id is none.
        """
        thread_id = value.get("thread_id")
        if thread_id is not None and not is_thread_id(thread_id):
            raise Auth.exceptions.HTTPException(422, "thread_id must be a UUID in small letters.")
        return await super().create(ctx, value)

    async def create_run(self, ctx: Ctx, value: Value) -> Any:
        """Let the run work with the caller's memories. A command (`params`) was settled by the ingress.

        Raises:
            HTTPException: 404, Aegra would make the thread for the run, and the checkpointer has it of somebody else.
        """
        caller = self._callers.of(ctx)
        await self._check_thread(value, caller)
        if "params" in value:
            return owned_by(caller)
        own(value, caller)
        config = dict(value.get("config") or {})
        configurable, context = dict(config.get("configurable") or {}), dict(value.get("context") or {})
        user = named_user({**configurable, **context}, caller, self._callers.identity)
        configurable[USER] = user
        if ctx.permissions:
            configurable[PERMISSIONS] = list(ctx.permissions)
        value["config"] = {**config, "configurable": configurable}
        if context:
            value["context"] = {**context, USER: user}
        return None  # a filter would take the place of what was changed


class AegraCrons:
    """Crons. Aegra keeps what was sent, whatever a handler changes: so what is sent is checked."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    def register(self, auth: Auth) -> None:
        """Give the handlers to `auth`."""
        auth.on.crons.create(self.keep)
        auth.on.crons.update(self.keep)
        auth.on.crons.read(self.see)
        auth.on.crons.search(self.see)
        auth.on.crons.delete(self.see)

    async def keep(self, ctx: Ctx, value: Value) -> None:
        """Refuse one that names another user."""
        caller = self._callers.of(ctx)
        config = value.get("config")
        for part in (value.get("context"), config.get("configurable") if isinstance(config, dict) else None):
            check_user(part, caller, self._callers.identity)

    async def see(self, ctx: Ctx, value: Value) -> None:
        """Know who it is: Aegra gives nobody's but theirs."""
        self._callers.of(ctx)


def is_thread_id(said: object) -> bool:
    """Tell whether a thread may be called so: two spellings of one UUID would be two threads."""
    try:
        return str(UUID(str(said))) == said
    except ValueError:
        return False


async def _exists(_thread_id: str, _run_id: str) -> bool:
    return True

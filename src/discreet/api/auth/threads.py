"""Threads and their runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from langgraph_sdk import get_client
from langgraph_sdk.auth import Auth
from langgraph_sdk.errors import NotFoundError

from discreet.access.caller import Caller
from discreet.api.auth.callers import Callers, Ctx, Value
from discreet.api.auth.kept_threads import ThreadOwner, is_anothers, thread_owner
from discreet.api.auth.owners import USER, named_user, own, own_if_given, owned_by

RunExists: TypeAlias = Callable[[str, str], Awaitable[bool]]
"""Whether a thread has a run, both by their ids."""

_CONTEXT_PROVIDED = "__context_provided__"
"""Key of `configurable` that says that the client gave a context. The server then drops from both what the graph's schema of
contexts lacks, so that a context may get a user only if it had one."""


async def run_exists(thread_id: str, run_id: str) -> bool:
    """Ask the server itself, from within."""
    try:
        await get_client(api_key=None).runs.get(thread_id, run_id)
    except NotFoundError:
        return False
    return True


class ThreadHandlers:
    """One a kind of action."""

    def __init__(self, callers: Callers, run_exists: RunExists, owner_of: ThreadOwner = thread_owner) -> None:
        self._callers = callers
        self._run_exists = run_exists
        self._owner_of = owner_of

    def register(self, auth: Auth) -> None:
        """Give them to `auth`."""
        auth.on.threads.create(self.create)
        auth.on.threads.create_run(self.create_run)
        auth.on.threads.read(self.see)
        auth.on.threads.search(self.see)
        auth.on.threads.update(self.update)
        auth.on.threads.delete(self.delete)

    async def create(self, ctx: Ctx, value: Value) -> Auth.types.FilterType:
        """Make it the caller's. The filter is for a thread that has this id already.

        Raises:
            HTTPException: 409, the server has no such thread, and the checkpointer has one of somebody else.
        """
        caller, thread_id = self._callers.of(ctx), value.get("thread_id")
        if thread_id is not None and await is_anothers(str(thread_id), caller, self._owner_of):
            raise Auth.exceptions.HTTPException(409, f"Thread with ID {thread_id} already exists")
        own(value, caller)
        return owned_by(caller)

    async def create_run(self, ctx: Ctx, value: Value) -> Auth.types.FilterType:
        """Let the run work with the caller's memories, in a thread of theirs.

        Raises:
            HTTPException: 404, the run would make a thread that the checkpointer has of somebody else.
        """
        caller = self._callers.of(ctx)
        if value.get("if_not_exists") == "create":
            await self._check_thread(value, caller)
        own(value, caller)
        self._set_user(ctx, value["kwargs"])
        return owned_by(caller)

    async def see(self, ctx: Ctx, value: Value) -> Auth.types.FilterType:
        """Leave what is the caller's."""
        return owned_by(self._callers.of(ctx))

    async def update(self, ctx: Ctx, value: Value) -> Auth.types.FilterType:
        """Keep the owner."""
        caller = self._callers.of(ctx)
        own_if_given(value, caller)
        return owned_by(caller)

    async def delete(self, ctx: Ctx, value: Value) -> Auth.types.FilterType:
        """Leave what is the caller's.

        Of a run, the server looks at the thread alone before it deletes the run's checkpoints, wherever they are: with the
        id of a run in another thread, that would be somebody else's.

        Raises:
            HTTPException: The thread has no such run.
        """
        thread_id, run_id = value.get("thread_id"), value.get("run_id")
        if run_id is not None and not await self._run_exists(str(thread_id), str(run_id)):
            raise Auth.exceptions.HTTPException(404, "Run not found")
        return owned_by(self._callers.of(ctx))

    async def _check_thread(self, value: Value, caller: Caller) -> None:
        thread_id = value.get("thread_id")
        if thread_id is not None and await is_anothers(str(thread_id), caller, self._owner_of):
            raise Auth.exceptions.HTTPException(404, "Thread or assistant not found.")

    def _set_user(self, ctx: Ctx, kwargs: dict[str, Any]) -> None:
        caller, identity = self._callers.of(ctx), self._callers.identity
        config = _part(kwargs, "config")
        configurable, context = _part(config, "configurable"), _part(kwargs, "context")
        given = bool(configurable.get(_CONTEXT_PROVIDED))
        user = named_user(context if given else configurable, caller, identity)
        configurable[USER] = user
        if not given or USER in context:
            context[USER] = user


def _part(values: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the mapping called `name` in `values`, which is made if there is none."""
    part = values.get(name)
    if not isinstance(part, dict):
        part = values[name] = {}
    return part

"""Assistants: those of the server, which everybody uses and nobody changes, and those of callers."""

from __future__ import annotations

from typing import cast

from langgraph_sdk.auth import Auth

from discreet.api.auth.callers import Callers, Ctx, Value
from discreet.api.auth.owners import CREATED_BY, SYSTEM, check_user, own, owned_by


class AssistantHandlers:
    """One a kind of action."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    def register(self, auth: Auth) -> None:
        """Give them to `auth`."""
        auth.on.assistants.create(self.write)
        auth.on.assistants.update(self.write)
        auth.on.assistants.delete(self.delete)
        auth.on.assistants.read(self.see)
        auth.on.assistants.search(self.see)

    async def write(self, ctx: Ctx, value: Value) -> Auth.types.FilterType:
        """Make it the caller's, or leave what is. The server's own have no owner, and so are nobody's to change."""
        caller = self._callers.of(ctx)
        own(value, caller)
        config = value.get("config")
        for part in (value.get("context"), config.get("configurable") if isinstance(config, dict) else None):
            check_user(part, caller, self._callers.identity)
        return owned_by(caller)

    async def delete(self, ctx: Ctx, value: Value) -> Auth.types.FilterType:
        """Leave what is the caller's."""
        return owned_by(self._callers.of(ctx))

    async def see(self, ctx: Ctx, value: Value) -> Auth.types.FilterType:
        """Leave what is the caller's, and the server's own."""
        either = {"$or": [owned_by(self._callers.of(ctx)), {CREATED_BY: SYSTEM}]}
        return cast("Auth.types.FilterType", either)  # servers take $or, the SDK's type lacks it

"""Crons, which create runs when nobody calls: for whom, is settled when they are made."""

from __future__ import annotations

from typing import Any

from langgraph_sdk.auth import Auth

from discreet.api.auth.callers import Callers, Ctx, Value
from discreet.api.auth.owners import check_user, own, own_if_given, owned_by

_PERMISSIONS = "langgraph_auth_permissions"
"""Where a cron keeps what its owner may do; the server reads it when it creates the run."""


class CronHandlers:
    """One a kind of action."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    def register(self, auth: Auth) -> None:
        """Give them to `auth`."""
        auth.on.crons.create(self.create)
        auth.on.crons.update(self.update)
        auth.on.crons.read(self.see)
        auth.on.crons.search(self.see)
        auth.on.crons.delete(self.see)

    async def create(self, ctx: Ctx, value: Value) -> Auth.types.FilterType:
        """Make it the caller's, and its runs too."""
        caller = self._callers.of(ctx)
        own(value, caller)
        self._settle(ctx, value["payload"])
        return owned_by(caller)

    async def update(self, ctx: Ctx, value: Value) -> Auth.types.FilterType:
        """Keep the owner, also of its runs."""
        caller = self._callers.of(ctx)
        own_if_given(value, caller)
        payload = value.get("payload")
        if isinstance(payload, dict) and ("config" in payload or "context" in payload):
            self._settle(ctx, payload)
        return owned_by(caller)

    async def see(self, ctx: Ctx, value: Value) -> Auth.types.FilterType:
        """Leave what is the caller's."""
        return owned_by(self._callers.of(ctx))

    def _settle(self, ctx: Ctx, payload: dict[str, Any]) -> None:
        """Put the context into `configurable`, where the server wants all of it when the time comes, and check the user."""
        caller = self._callers.of(ctx)
        config = payload.get("config")
        config = payload["config"] = config if isinstance(config, dict) else {}
        configurable = config.get("configurable")
        configurable = config["configurable"] = configurable if isinstance(configurable, dict) else {}
        context = payload.pop("context", None)
        if isinstance(context, dict):
            configurable |= context
        check_user(configurable, caller, self._callers.identity)
        if ctx.permissions:
            configurable[_PERMISSIONS] = list(ctx.permissions)
        own_if_given(payload, caller)

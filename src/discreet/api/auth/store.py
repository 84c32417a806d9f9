"""Items of the store: every caller has namespaces of their own, below one that bears their identity."""

from __future__ import annotations

from langgraph_sdk.auth import Auth

from discreet.api.auth.callers import Callers, Ctx, Value
from discreet.rights.namespaces import ROOT


class StoreHandlers:
    """Put the caller's namespace before what they say. What they read back has it already, and may be said again."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    def register(self, auth: Auth) -> None:
        """Give them to `auth`."""
        auth.on.store.put(self.one)
        auth.on.store.get(self.one)
        auth.on.store.delete(self.one)
        auth.on.store.search(self.one)
        auth.on.store.list_namespaces(self.listed)

    async def one(self, ctx: Ctx, value: Value) -> None:
        """Go to the caller's own, in a search too."""
        value["namespace"] = self._below(ctx, value)

    async def listed(self, ctx: Ctx, value: Value) -> None:
        """List the caller's own. How deep, counts from where the caller began."""
        below = self._below(ctx, value)
        depth = value.get("max_depth")
        if depth is not None:
            value["max_depth"] = depth + len(below) - len(value.get("namespace") or ())
        value["namespace"] = below

    def _below(self, ctx: Ctx, value: Value) -> tuple[str, ...]:
        root = (ROOT, self._callers.of(ctx).identity)
        said = tuple(value.get("namespace") or ())
        return said if said[: len(root)] == root else (*root, *said)

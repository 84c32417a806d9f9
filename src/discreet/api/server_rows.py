"""What the LangGraph server that we run in has of a user: threads with their runs, crons, and assistants of theirs."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, Literal

from langgraph_sdk import get_client

from discreet.api.auth.owners import OWNER

SERVER: Final = "langgraph_api"
"""The module of the server. It is there if the server runs us."""

PAGE: Final = 100

Kind = Literal["threads", "crons", "assistants"]


class ServerRows:
    """Erases them through the server's own API, from within."""

    name = "LangGraph server"

    @staticmethod
    def are_there() -> bool:
        """Tell whether a LangGraph server runs us."""
        return SERVER in sys.modules

    async def erase(self, user_id: str, *, dry_run: bool) -> Mapping[str, int]:
        """Delete what is there of a user, or only count it; return how many, by kind."""
        client = get_client(api_key=None)
        kinds: tuple[Kind, ...] = ("crons", "threads", "assistants")  # a cron makes runs and threads
        counts: dict[str, int] = {}
        for kind in kinds:
            found = [key async for key in _owned(client, kind, user_id)]
            counts[kind] = len(found)
            for key in () if dry_run else found:
                await getattr(client, kind).delete(key)
        return counts


async def _owned(client: Any, kind: Kind, user_id: str) -> AsyncIterator[str]:
    """Yield the ids of what is a user's. All are found before the first is deleted, so that no page is passed over."""
    search, offset = getattr(client, kind).search, 0
    narrowed = {} if kind == "crons" else {"metadata": {OWNER: user_id}}
    while True:
        page = await search(limit=PAGE, offset=offset, **narrowed)
        for row in page:
            if (row.get("metadata") or {}).get(OWNER) == user_id:
                yield row[f"{kind[:-1]}_id"]
        if len(page) < PAGE:
            return
        offset += PAGE

"""Ids that callers give."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from discreet.access.sensitive_ids import default_sensitive_ids
from discreet.errors import InvalidRequestError
from discreet.state.records import MemoryFilters

SENSITIVE_ID: Final = "holds a sensitive value; use ids of your own"
"""A placeholder would make one of two ids."""


THREAD: Final = "session_id"
"""What requests call the thread_id, for which a digest may stand."""


def check_ids(ids: Mapping[str, str | None]) -> None:
    """Refuse ids that can't be stored as they are. May take long.

    Raises:
        InvalidRequestError: One holds a sensitive value.
    """
    rule = default_sensitive_ids()
    given = {name: value for name, value in ids.items() if value is not None}
    if sensitive := [
        name for name, value in given.items() if (rule.refuses if name == THREAD else rule.found_in)(value)
    ]:
        raise InvalidRequestError([(name, SENSITIVE_ID) for name in sensitive])


async def check_filters(filters: MemoryFilters, *, within: str = "") -> None:
    """Refuse filters by ids that no entry can have, before the database is asked: it may log what it is asked.

    Conversations are looked for by digests of their ids. Fields are named as requests do, those `within` another one after it.

    Raises:
        InvalidRequestError: One holds a sensitive value.
    """
    ids = {"agent_id": filters.agent_id, "request_id": filters.request_id}
    said = {f"{within}{name}": value for name, value in ids.items() if value is not None}
    if said:
        await asyncio.to_thread(check_ids, said)

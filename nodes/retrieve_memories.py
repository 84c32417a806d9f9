"""Search the user's long-term memory for what bears on their message; the turn goes on when that fails."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import TypeVar, cast

from langgraph.errors import GraphBubbleUp

from discreet.metrics import retrieve_failures, retrieve_seconds
from discreet.nodes.masking import TurnMask
from discreet.nodes.node import Node, State, Update, read
from discreet.nodes.opening import TurnOpening
from discreet.nodes.query import query_of
from discreet.nodes.run import Run, describe_run
from discreet.ports import FixedSettings, LiveSettings, LoadsFirst, Memories, MemoryQuery, OpenedTurn
from discreet.state.conversation import Request, RetrievedMemory
from discreet.state.records import MemoryFilters, ScoredMemory

FEW_FACTS = 12
"""Up to so many facts are all told, near to the question or not: "Where could I eat tonight?" is far from "Ann is allergic
to peanuts". A short one takes 17 to 21 tokens, so that these fill about the 200 that are always in reserve for facts."""

logger = logging.getLogger(__name__)

Number = TypeVar("Number", int, float)


def make_retrieve_memories(
    *,
    memories: Memories,
    limit: int | None = None,
    threshold: float | None = None,
    memory_settings: LiveSettings | None = None,
    timeout: float = 2.0,
    mask: TurnMask | None = None,
    opening: TurnOpening | None = None,
    default_user: str | None = None,
    shared_apps: Sequence[str] = (),
    messages_key: str = "messages",
    request_key: str = "request",
    memories_key: str = "memories",
) -> Node:
    """Return the node `retrieve_memories`, which puts the best memories into `memories_key`.

    Of a person with at most `FEW_FACTS` facts all are told, the best first, unless `limit` or `threshold`, or the context of
    the run, says how many or how near. What was said in the running thread itself, and its summary, are not looked for: the
    prompt has them anyway. Without a user or
    without text the list is empty. So it is on an error and after `timeout` seconds: a log event and
    a metric say so, and the turn goes on.

    Args:
        memories: Where to search.
        limit: Memories at most, whatever else is said. Default: `Context.retrieve_limit`, else `memory_settings`.
        threshold: Least calibrated score, whatever else is said; 0: none. Default: `Context.retrieve_threshold`, else
            `memory_settings`.
        memory_settings: Asked anew for each turn, for example `storage.memory_settings`. Default: 5 memories, from 0.6 on.
        timeout: Seconds. What `memories` load first, see `discreet.ports.LoadsFirst`, does not count.
        mask: Has what was said in a recording; by default the process's.
        opening: Searches, and reads what else the turn needs in the same round trip.
        default_user: user_id for runs that name none.
        shared_apps: Applications whose memories of the user are found too; by default each keeps its own.
        messages_key: State key of the messages.
        request_key: State key of the running turn.
        memories_key: State key of the result, a list of `RetrievedMemory`.
    """
    memory_settings = memory_settings or FixedSettings()
    mask = mask or TurnMask()

    async def search(run: Run, user_id: str, query: str, request: Request | None) -> OpenedTurn:
        context, live = run.context, memory_settings.live
        filters = MemoryFilters(app_name=context.app_name, shared_apps=list(shared_apps), running_thread=run.thread_id)
        said = (limit, threshold, context.retrieve_limit, context.retrieve_threshold)
        asked = MemoryQuery(
            query=query,
            limit=_first(limit, context.retrieve_limit, live.memory_retrieve_limit),
            threshold=_first(threshold, context.retrieve_threshold, live.memory_retrieve_threshold),
            filters=filters,
            few=FEW_FACTS if said.count(None) == len(said) else 0,
        )
        await _loaded(memories)
        async with asyncio.timeout(timeout):
            if opening is not None and request is not None:
                return await opening.open(run, user_id, request, asked)
            found = await memories.search(
                user_id, query, limit=asked.limit, threshold=asked.threshold, filters=filters, few=asked.few
            )
            return OpenedTurn(began=None, forgotten=frozenset(), found=found)

    async def retrieve_memories(state: State) -> Update:
        run = describe_run(default_user=default_user)
        query = await query_of(state, mask, messages_key=messages_key)
        request: Request | None = read(state, request_key)
        if run.user_id is None or not query.strip():
            if opening is None or request is None:
                return {memories_key: []}
            return {memories_key: [], request_key: await opening.without_search(run, request)}
        started, opened = time.perf_counter(), None
        try:
            opened = await search(run, run.user_id, query, request)
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001  # memory fails open, whatever a foreign store raises
            cause = type(error).__name__
            retrieve_failures.labels(cause).inc()
            logger.warning("retrieve_failed cause=%s seconds=%.3f", cause, time.perf_counter() - started)
        else:
            retrieve_seconds.observe(time.perf_counter() - started)
        found = [] if opened is None else [retrieved(hit) for hit in opened.found]
        if opening is None or request is None:
            return {memories_key: found}
        return {memories_key: found, request_key: await opening.begun(run, request, opened)}

    return Node("retrieve_memories", retrieve_memories)


async def _loaded(memories: Memories) -> None:
    """Wait for a model that is still loading, which takes nothing of the search's time."""
    if hasattr(memories, "ready"):
        await cast("LoadsFirst", memories).ready()


def _first(given: Number | None, of_the_run: Number | None, settings: Number) -> Number:
    """Return what goes before the others: the argument, then the run's context, then the settings."""
    if given is not None:
        return given
    return settings if of_the_run is None else of_the_run


def retrieved(hit: ScoredMemory) -> RetrievedMemory:
    """Return a search hit as plain JSON for the state and for the model."""
    return RetrievedMemory(
        entry_id=str(hit.record.entry_id),
        text=hit.record.text,
        type=hit.record.type,
        created_at=hit.record.created_at.isoformat(),
        relevance=round(hit.similarity, 2),
    )

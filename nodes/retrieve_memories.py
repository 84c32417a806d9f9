"""Search the user's long-term memory for what bears on their message; the turn goes on when that fails."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence

from langgraph.errors import GraphBubbleUp

from discreet.metrics import retrieve_failures, retrieve_seconds
from discreet.nodes.node import Node, State, Update, read
from discreet.nodes.run import Run, describe_run
from discreet.nodes.turn import query_text
from discreet.ports import Memories
from discreet.prompts.blocks import PAST_TYPES
from discreet.state.conversation import RetrievedMemory
from discreet.state.records import MemoryFilters, MemoryRecord, ScoredMemory

logger = logging.getLogger(__name__)


def make_retrieve_memories(
    *,
    memories: Memories,
    limit: int = 5,
    threshold: float | None = 0.6,
    timeout: float = 2.0,
    default_user: str | None = None,
    shared_apps: Sequence[str] = (),
    messages_key: str = "messages",
    memories_key: str = "memories",
) -> Node:
    """Return the node `retrieve_memories`, which puts the best memories into `memories_key`.

    What was said in the running thread itself, and its summary, are left out: the prompt has them anyway. Without a user or
    without text the list is empty. So it is on an error and after `timeout` seconds: a log event and
    a metric say so, and the turn goes on.

    Args:
        memories: Where to search.
        limit: Memories at most; `Context.retrieve_limit` overrides it.
        threshold: Least calibrated score; `Context.retrieve_threshold` overrides it.
        timeout: Seconds.
        default_user: user_id for runs that name none.
        shared_apps: Applications whose memories of the user are found too; by default each keeps its own.
        messages_key: State key of the messages.
        memories_key: State key of the result, a list of `RetrievedMemory`.
    """

    async def search(run: Run, user_id: str, query: str) -> list[ScoredMemory]:
        context = run.context
        async with asyncio.timeout(timeout):
            return await memories.search(
                user_id,
                query,
                limit=limit if context.retrieve_limit is None else context.retrieve_limit,
                threshold=threshold if context.retrieve_threshold is None else context.retrieve_threshold,
                filters=MemoryFilters(app_name=context.app_name, shared_apps=list(shared_apps)),
            )

    async def retrieve_memories(state: State) -> Update:
        run = describe_run(default_user=default_user)
        query = query_text(read(state, messages_key, ()))
        if run.user_id is None or not query.strip():
            return {memories_key: []}
        started = time.perf_counter()
        try:
            found = await search(run, run.user_id, query)
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001  # memory fails open, whatever a foreign store raises
            cause = type(error).__name__
            retrieve_failures.labels(cause).inc()
            logger.warning("retrieve_failed cause=%s seconds=%.3f", cause, time.perf_counter() - started)
            return {memories_key: []}
        retrieve_seconds.observe(time.perf_counter() - started)
        return {memories_key: [retrieved(hit) for hit in found if not _told_anyway(hit.record, run.thread_id)]}

    return Node("retrieve_memories", retrieve_memories)


def _told_anyway(record: MemoryRecord, thread_id: str | None) -> bool:
    """Whether the prompt has it already: the summary and the rounds of the running thread."""
    return record.type in PAST_TYPES and record.thread_id is not None and record.thread_id == thread_id


def retrieved(hit: ScoredMemory) -> RetrievedMemory:
    """Return a search hit as plain JSON for the state and for the model."""
    return RetrievedMemory(
        entry_id=str(hit.record.entry_id),
        text=hit.record.text,
        type=hit.record.type,
        created_at=hit.record.created_at.isoformat(),
        relevance=round(hit.similarity, 2),
    )

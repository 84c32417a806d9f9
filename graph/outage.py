"""Answer a turn while the checkpointer can't be reached."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from discreet.checkpoint.messages import is_answer
from discreet.driver_errors import storage_errors
from discreet.errors import StorageUnavailableError
from discreet.metrics import outage_turns
from discreet.nodes.run import Run
from discreet.nodes.short_term import tolerant
from discreet.ports import Round, ShortTermStore

logger = logging.getLogger(__name__)

Graph = CompiledStateGraph[Any, Any, Any, Any]


async def run_through_outage(
    graph: Graph,
    given: Mapping[str, Any],
    config: RunnableConfig | None,
    *,
    context: Any,
    run: Run,
    short_term: ShortTermStore | None,
    messages_key: str,
) -> dict[str, Any]:
    """Run one turn of `graph` and return the state after it.

    If the checkpointer fails before any node was started, the turn runs without it, after the last rounds that `short_term` has of
    the thread. If it fails when the answer is there, the answer is returned. In both cases the turn is not kept.

    Raises:
        StorageUnavailableError: The checkpointer failed while the turn was under way; nothing can say what was done.
    """
    progress = _Progress(messages_key)
    try:
        with storage_errors():
            return await progress.follow(graph, given, config, context)
    except StorageUnavailableError:
        if progress.answered:
            _lost("turn")
            return progress.state
        if progress.begun:
            raise
    _lost("thread")
    rounds: list[Round] = []
    if short_term is not None and run.user_id is not None and run.thread_id is not None:
        rounds = await tolerant("recent_rounds", short_term.recent_rounds(run.user_id, run.thread_id), otherwise=[])
    earlier = [message for said in rounds for message in _messages(said)]
    alone = graph.copy(update={"checkpointer": None})
    return await _Progress(messages_key).follow(
        alone, {**given, messages_key: [*earlier, *given[messages_key]]}, config, context
    )


class _Progress:
    """How far a run has come."""

    def __init__(self, messages_key: str) -> None:
        self._key = messages_key
        self.begun = False
        """Whether any node was started."""
        self.state: dict[str, Any] = {}
        """The last one seen."""

    @property
    def answered(self) -> bool:
        """Whether the answer is there, redacted: nothing is left to do but to keep the turn."""
        messages: list[BaseMessage] = self.state.get(self._key) or []
        return self.begun and bool(messages) and is_answer(messages[-1])

    async def follow(
        self, graph: Graph, given: Mapping[str, Any], config: RunnableConfig | None, context: Any
    ) -> dict[str, Any]:
        """Run `graph` to its end or its next pause, and return the state, as `ainvoke` does."""
        paused: list[Any] = []
        stream: Any = graph.astream(
            dict(given),
            config,
            context=context,
            stream_mode=["tasks", "updates", "values"],
            output_keys=graph.output_channels,
        )
        async for mode, event in stream:
            if mode == "values":
                self.state = event
            elif mode == "tasks":
                self.begun = True
            elif "__interrupt__" in event:
                paused += event["__interrupt__"]
        return {**self.state, "__interrupt__": paused} if paused else self.state


def _messages(said: Round) -> list[BaseMessage]:
    return [HumanMessage(said.input_text), AIMessage(said.output_text)]


def _lost(what: str) -> None:
    outage_turns.labels(what).inc()
    logger.warning("checkpointer_unreachable lost=%s", what)

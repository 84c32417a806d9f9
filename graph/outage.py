"""Answer a turn while the checkpointer can't be reached."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from discreet.checkpoint.answers import is_answer
from discreet.driver_errors import storage_errors
from discreet.errors import StorageUnavailableError
from discreet.graph.streams import Graph, Part
from discreet.metrics import outage_turns
from discreet.nodes.run import Run
from discreet.nodes.short_term import tolerant
from discreet.ports import Round, ShortTermStore

logger = logging.getLogger(__name__)

Play = Callable[[Graph, Any], AsyncGenerator[Part]]
"""Runs a graph with an input."""


async def run_through_outage(
    play: Play, graph: Graph, given: Any, *, run: Run, short_term: ShortTermStore | None, messages_key: str
) -> AsyncGenerator[Part]:
    """Run one turn of `graph`, and yield its parts from where the first node begins.

    If the checkpointer fails before any node was started, the turn runs without it, after the last rounds that `short_term` has of
    the thread. If it fails when the answer is there, that is all. In both cases the turn is not kept. What goes on with a
    paused turn, or with one that waits for a result, can't do without the checkpointer.

    Raises:
        StorageUnavailableError: The checkpointer failed while the turn was under way; nothing can say what was done.
    """
    progress = _Progress(messages_key)
    early: list[Part] = []
    try:
        with storage_errors():
            async with aclosing(play(graph, given)) as parts:
                async for part in parts:
                    progress.see(part)
                    early.append(part)
                    while progress.begun and early:
                        yield early.pop(0)
        for part in early:
            yield part
    except StorageUnavailableError:
        if progress.answered:
            _lost("turn")
            return
        if progress.begun or not isinstance(given, Mapping) or _brings_result(given[messages_key]):
            raise
    else:
        return
    _lost("thread")
    rounds: list[Round] = []
    if short_term is not None and run.user_id is not None and run.thread_id is not None:
        rounds = await tolerant("recent_rounds", short_term.recent_rounds(run.user_id, run.thread_id), otherwise=[])
    earlier = [message for said in rounds for message in _messages(said)]
    alone = graph.copy(update={"checkpointer": None})
    async with aclosing(play(alone, {**given, messages_key: [*earlier, *given[messages_key]]})) as parts:
        async for part in parts:
            yield part


class _Progress:
    """How far a run has come."""

    def __init__(self, messages_key: str) -> None:
        self._key = messages_key
        self._newest: list[BaseMessage] = []
        self.begun = False
        """Whether any node was started."""

    @property
    def answered(self) -> bool:
        """Whether the answer is there, redacted: nothing is left to do but to keep the turn."""
        return self.begun and bool(self._newest) and is_answer(self._newest[-1])

    def see(self, part: Part) -> None:
        """Learn from a part of the run."""
        if part.mode == "tasks":
            self.begun = True
        elif part.mode == "values" and not part.place:
            self._newest = messages_in(part.data, self._key)


def messages_in(state: Any, key: str) -> list[BaseMessage]:
    """Return the messages of a state, whatever its schema."""
    found = state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)
    return found or []


def _brings_result(messages: Sequence[BaseMessage]) -> bool:
    return bool(messages) and isinstance(messages[-1], ToolMessage)


def _messages(said: Round) -> list[BaseMessage]:
    """Return a round; the user's message has its request's id, by which it is known if the round was forgotten."""
    return [HumanMessage(said.input_text, id=said.request_id), AIMessage(said.output_text)]


def _lost(what: str) -> None:
    outage_turns.labels(what).inc()
    logger.warning("checkpointer_unreachable lost=%s", what)

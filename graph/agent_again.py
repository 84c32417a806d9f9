"""Know within an agent's turn a message that its thread has already: LangGraph has put it in that one's place by then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.base import CheckpointTuple

from discreet.checkpoint.answers import is_answer
from discreet.graph.again import messages_in
from discreet.nodes.run import checkpoints_of_run, step_of_run
from discreet.ports import TextRedactor
from discreet.redaction.same_text import is_same_text
from discreet.state.message_text import text_of

STEPS: Final = 3
"""From the end of a turn to the first hook of the next: its input, LangGraph's own first step, and the hook."""


@dataclass(frozen=True)
class CameAgain:
    """A message that came in under the id of one that was answered."""

    put_back: Sequence[BaseMessage]
    """What the thread had before."""
    is_same: bool
    """Whether its text is that message's."""


def may_be_again(state: Mapping[str, Any]) -> bool:
    """Return whether nothing new came into a state: it ends with an answer."""
    messages = state.get("messages", [])
    return bool(messages) and is_answer(messages[-1])


async def abefore_run() -> list[BaseMessage] | None:
    """Return the messages of the thread as the run that calls this found them; None if that is not known."""
    if (found := checkpoints_of_run()) is None:
        return None
    saver, config = found
    latest = step_of_run() - STEPS
    async for each in saver.alist(config, limit=STEPS):
        if each.metadata.get("step", 0) <= latest:
            return _messages(each)
    return None


def before_run() -> list[BaseMessage] | None:
    """Do what `abefore_run` does, blocking."""
    if (found := checkpoints_of_run()) is None:
        return None
    saver, config = found
    latest = step_of_run() - STEPS
    older = (each for each in saver.list(config, limit=STEPS) if each.metadata.get("step", 0) <= latest)
    return next(map(_messages, older), None)


def came_again(
    now: Sequence[BaseMessage], before: Sequence[BaseMessage] | None, redactor: TextRedactor
) -> CameAgain | None:
    """Return what came again, given the thread's messages `before` the input was taken; None if something else came in."""
    if before is None or [each.id for each in now] != [each.id for each in before]:
        return None
    changed = [(was, each) for was, each in zip(before, now, strict=True) if was.content != each.content]
    if not all(isinstance(was, HumanMessage) and isinstance(each, HumanMessage) for was, each in changed):
        return None
    is_same = all(is_same_text(text_of(was), text_of(each), redactor) for was, each in changed)
    return CameAgain([was for was, _ in changed], is_same)


def _messages(found: CheckpointTuple) -> list[BaseMessage] | None:
    is_input = found.metadata.get("source") == "input"  # other hooks ran before: which one is not told
    return None if is_input else messages_in(found.checkpoint["channel_values"], "messages")

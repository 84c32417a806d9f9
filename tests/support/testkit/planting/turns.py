"""What models and tools answer in a turn: they are shared by all threads, the answers are not."""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from discreet.testing.chat_models import RecordingChatModel, check_tool_calls


@dataclass
class Turn:
    """The answers of one turn, first come first served. When there are none left, models and tools say so."""

    answers: deque[AIMessage] = field(default_factory=deque)
    results: deque[Any] = field(default_factory=deque)
    error: Exception | None = None
    """What the node that can fail raises."""


_TURN: ContextVar[Turn] = ContextVar("turn")


@contextmanager
def turn(answers: list[AIMessage] | None = None, results: list[Any] | None = None, **given: Any) -> Iterator[Turn]:
    """Run what is inside with these answers."""
    made = Turn(deque(answers or ()), deque(results or ()), **given)
    token = _TURN.set(made)
    try:
        yield made
    finally:
        _TURN.reset(token)


def next_answer() -> AIMessage:
    """Return the next answer of a model."""
    answers = _TURN.get().answers
    return answers.popleft() if answers else AIMessage("Done.")


def next_result(default: Any) -> Any:
    """Return the next result of a tool or node, else `default`."""
    results = _TURN.get().results
    return results.popleft() if results else default


def fail_if_told() -> None:
    """Raise the error of this turn, if it has one."""
    if (error := _TURN.get().error) is not None:
        raise error


class TurnModel(RecordingChatModel):
    """Answers as the turn says; refuses what providers refuse: dangling tool calls, media that is no base64."""

    @property
    def _llm_type(self) -> str:
        return "turns"

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # LangChain's signature
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # as above
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages, kwargs))])

    def _next(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:  # as above
        check_tool_calls(messages)
        for message in messages:
            for block in message.content if isinstance(message.content, list) else ():
                if isinstance(block, dict) and (data := block.get("base64")) is not None:
                    base64.b64decode(data, validate=True)
        return next_answer()

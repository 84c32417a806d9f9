"""A chat model that answers by a function of its prompt, and refuses a prompt that a real provider would refuse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import SkipValidation

from discreet.testing.chat_models import DanglingToolCallError, RecordingChatModel, check_tool_calls


class PromptRefusedError(Exception):
    """The prompt is one that providers answer with status 400. It names ids and types of messages, never their text."""

    status_code: ClassVar[int] = 400


class StrictChatModel(RecordingChatModel):
    """Answers by `answer`, a function of the prompt, so that retries, forks and threads at once need no script.

    What it refuses is in `check_prompt`. Calls may come from many threads.

    Example:
        >>> model = StrictChatModel(answer=lambda messages: AIMessage(messages[-1].text.upper()))
        >>> model.invoke("hi").text
        'HI'
        >>> model.invoke([AIMessage("", tool_calls=[{"name": "look_up", "args": {}, "id": "1"}])])
        Traceback (most recent call last):
        discreet.testing.strict_model.PromptRefusedError: The first message is of type ai; it has to be the user's.
    """

    answer: SkipValidation[Callable[[list[BaseMessage]], AIMessage]]
    """Makes the answer of a prompt that is in order. What it raises is the provider's error."""
    refused: int = 0
    """How many prompts were refused: graphs may swallow the error."""

    @property
    def _llm_type(self) -> str:
        return "strict"

    def _next(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        with self._lock:
            self.prompts.append(list(messages))
        try:
            check_prompt(messages)
        except PromptRefusedError:
            with self._lock:
                self.refused += 1
            raise
        return self.answer(list(messages)).model_copy(deep=True)


def check_prompt(messages: Sequence[BaseMessage]) -> None:
    """Check a prompt as providers do.

    After the system messages it begins with the user's; every tool call has its result directly after it, and every
    result its call; no two calls share an id; no message of the user's, no system message and no answer before the last
    message is empty, and no block of text is.

    Raises:
        PromptRefusedError: It says which rule is broken.
    """
    talk = [message for message in messages if not isinstance(message, SystemMessage)]
    if not talk:
        raise PromptRefusedError("There is no message.")
    if not isinstance(talk[0], HumanMessage):
        raise PromptRefusedError(f"The first message is of type {talk[0].type}; it has to be the user's.")
    for message in messages[:-1] if isinstance(messages[-1], AIMessage) else messages:
        if _is_empty(message):
            raise PromptRefusedError(f"A message of type {message.type} is empty: {message.id}.")
    calls = [call["id"] for message in talk if isinstance(message, AIMessage) for call in message.tool_calls]
    if twice := sorted({str(call) for call in calls if calls.count(call) > 1}):
        raise PromptRefusedError(f"Calls that share an id: {twice}.")
    try:
        check_tool_calls(talk)
    except DanglingToolCallError as error:
        raise PromptRefusedError(str(error)) from error


def _is_empty(message: BaseMessage) -> bool:
    """Return whether a message, or a block of its text, is blank. A call of a tool needs no words, nor does a result."""
    if isinstance(message, ToolMessage) or (isinstance(message, AIMessage) and message.tool_calls):
        return False
    content = message.content if isinstance(message.content, list) else [message.content]
    texts = [each.get("text") if isinstance(each, dict) else each for each in content if _is_text(each)]
    return not content or not all(isinstance(text, str) and text.strip() for text in texts)


def _is_text(block: str | dict[str, object]) -> bool:
    return isinstance(block, str) or block.get("type") == "text"

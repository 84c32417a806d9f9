"""A chat model that plays a script, and is as strict about tool calls as real providers are."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr, SkipValidation

from discreet.providers.streaming import stream_chunks

Response = AIMessage | Exception | Callable[[list[BaseMessage]], AIMessage]
"""What the model answers: a message, an error to raise, or a function of the prompt."""


class DanglingToolCallError(Exception):
    """A tool call without its result, or a result without its call. Providers refuse such a prompt with status 400."""


class RecordingChatModel(BaseChatModel):
    """Keeps the prompts that it gets; what it answers is up to those derived from it. Calls may come from many threads."""

    prompts: list[list[BaseMessage]] = Field(default_factory=list)
    """The prompts so far, oldest first, refused ones too."""

    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return this model; what is called is not decided by the tools."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages, kwargs))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        yield from stream_chunks(self._next(messages, kwargs))

    @abstractmethod
    def _next(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        """Return the answer to a prompt, with the options of the call."""


class ScriptedChatModel(RecordingChatModel):
    """Answers with `responses`, one after the other, and records what it was asked. Calls may come from many threads.

    Example:
        >>> model = ScriptedChatModel(responses=[AIMessage("Hello.")])
        >>> model.invoke("Hi").content, [message.content for message in model.prompts[0]]
        ('Hello.', ['Hi'])
    """

    responses: SkipValidation[Sequence[Response]]
    """The script. When it is over, the next call raises IndexError."""
    strict: bool = True
    """Whether a prompt with dangling tool calls raises, as it does at real providers."""
    tools: list[list[str]] = Field(default_factory=list)
    """The names of the tools that were bound at each call."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _next(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        """Record the call and return a copy of the next answer, so that no caller changes the script."""
        with self._lock:
            turn = len(self.prompts)
            self.prompts.append(list(messages))
            self.tools.append([tool["function"]["name"] for tool in options.get("tools") or ()])
        if self.strict:
            check_tool_calls(messages)
        response = self.responses[turn]
        if isinstance(response, Exception):
            raise response
        message = response if isinstance(response, AIMessage) else response(list(messages))
        return message.model_copy(deep=True)


def check_tool_calls(messages: Sequence[BaseMessage]) -> None:
    """Check that every tool call is answered right after it, and that nothing else is.

    Raises:
        DanglingToolCallError: It names the ids.
    """
    open_calls: set[str | None] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open_calls:
                raise DanglingToolCallError(f"Result without a call: {message.tool_call_id!r}.")
            open_calls.discard(message.tool_call_id)
            continue
        _all_answered(open_calls)
        if isinstance(message, AIMessage):
            open_calls = {call["id"] for call in message.tool_calls}
    _all_answered(open_calls)


def _all_answered(open_calls: set[str | None]) -> None:
    if open_calls:
        raise DanglingToolCallError(f"Calls without a result: {sorted(map(str, open_calls))}.")

"""The offline model behind LangChain's chat model interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput, ModelProfile
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from discreet.errors import ConfigurationError
from discreet.providers.offline.answers import next_message
from discreet.providers.offline.turn import Turn
from discreet.providers.streaming import stream_chunks

MODEL_NAME = "offline"


class OfflineChatModel(BaseChatModel):
    """Keeps what the user states about themselves and finds it again, by rules; it understands nothing, and says so.

    It works through the tool-calling protocol of every chat model: with `save_memory`, `recall_memory` and
    `forget_memory` bound, a statement is saved, a question is answered by the closest memory with its score, and
    "forget …" deletes the one that is meant, or what was only said. With `update_memory`, "correct that: …" replaces it. Other tools are called by `/tool_name key=value`. It reads English, Vietnamese,
    Russian and Chinese. The same conversation always gets the same answer.
    """

    model_name: str = MODEL_NAME
    profile: ModelProfile | None = Field(default_factory=lambda: ModelProfile(image_inputs=False, audio_inputs=False))

    @property
    def _llm_type(self) -> str:
        return "discreet-offline"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return this model with `tools` to call. Of `tool_choice` only `"none"` means something to rules."""
        schemas = [] if tool_choice == "none" else [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=schemas, **kwargs)

    def with_structured_output(self, schema: dict[str, Any] | type, **kwargs: Any) -> NoReturn:
        """Refuse: rules can't fill a schema from free text.

        Raises:
            ConfigurationError: Always.
        """
        raise ConfigurationError(
            "The offline model can't fill a schema. Set DISCREET_CHAT_MODEL=<provider>:<model> and the provider's key."
        )

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages, kwargs.get("tools") or ()))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        yield from stream_chunks(self._answer(messages, kwargs.get("tools") or ()))

    def _answer(self, messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]) -> AIMessage:
        functions = [tool["function"] for tool in tools]
        schemas = {function["name"]: function.get("parameters", {}) for function in functions}
        message = next_message(Turn.of(messages, schemas))
        message.response_metadata = {"model_name": self.model_name}
        return message

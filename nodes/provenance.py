"""Say with each answer of a model which one gave it, to which instructions, and whether the tool loop's limit was hit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from discreet.nodes.run import Run
from discreet.nodes.turn import turn_start
from discreet.prompts.texts import prompt_id, prompt_text
from discreet.providers.capabilities import name_of
from discreet.state.records import Provenance

MADE: Final = "made"
"""Key of the response metadata."""


class Made(TypedDict, total=False):
    """How an answer was made. None of it is said by the user or the model."""

    model: str
    prompt: str
    last_words: bool
    """Whether no further tool calls were allowed."""


_MADE: TypeAdapter[Made] = TypeAdapter(Made)


def with_origin(
    answer: AIMessage, model: BaseChatModel, *, instructions: str | None = None, last_words: bool = False
) -> AIMessage:
    """Return `answer` with a note of what made it. `instructions` are None where the template's own were given."""
    made = Made(
        model=name_of(model) or model.get_name(),
        prompt=prompt_id("assistant", instructions or prompt_text("assistant")),
        last_words=last_words,
    )
    return answer.model_copy(update={"response_metadata": {**answer.response_metadata, MADE: made}})


def provenance(messages: Sequence[BaseMessage], run: Run, *, source: str) -> Provenance:
    """Return where something comes from that the model of the running turn wrote."""
    told = (m for m in reversed(_turn(messages)) if isinstance(m, AIMessage) and m.response_metadata)
    last = next(told, AIMessage(""))
    made, version = _made(last), last.response_metadata.get("model_name")
    version = version if isinstance(version, str) else None
    return Provenance(
        model=made.get("model") or run.context.model or version,
        model_version=version,
        prompt=made.get("prompt"),
        source=source,
    )


def limit_was_hit(messages: Sequence[BaseMessage]) -> bool:
    """Whether the model was asked for its last words in the running turn."""
    return any(_made(message).get("last_words", False) for message in _turn(messages))


def _turn(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    return messages[turn_start(messages) or 0 :]


def _made(message: BaseMessage) -> Made:
    """Return the note of `with_origin`, empty where there is none of that kind."""
    found = message.response_metadata.get(MADE)
    try:
        return _MADE.validate_python(found or {})
    except ValidationError:  # a message that the caller sent
        return {}

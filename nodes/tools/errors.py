"""Say to the model why its tool call failed: a stable code, what to do, and nothing that only the machine should know.

A call with a placeholder in the place of a value fails before it runs.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple, get_args

from langchain_core.tools import ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolInvocationError
from pydantic import ValidationError
from pydantic_core.core_schema import ErrorType

from discreet.errors import (
    CallLimitError,
    DiscreetError,
    ProviderError,
    StorageError,
    StorageUnavailableError,
    UnresolvedPlaceholderError,
)
from discreet.metrics import tool_errors
from discreet.ports import Marking, TextRedactor
from discreet.prompts.texts import render_reply
from discreet.redaction.placeholders import TAGGED, placeholder_pattern

logger = logging.getLogger(__name__)

INVALID_ARGUMENTS = "invalid_arguments"
FAILED = "tool_failed"
TIMEOUT = "timeout"

PLACEHOLDERS: Final = "placeholders"
"""Key of a tool's `metadata`: true if the tool takes placeholders for what they are, as the memory tools do."""

PYDANTICS_OWN = frozenset(get_args(ErrorType)) - {"value_error", "assertion_error"}
"""Their messages hold no values; those of a validator are whatever its author wrote."""


class _Failure(NamedTuple):
    code: str
    message: str
    retryable: bool = False


def tool_error(error: Exception, said: str = "") -> str:
    """Return what a failed tool answers: `{"error": {"code": …, "message": …, "retryable": …}}` as JSON.

    Where a database or a provider is out of reach the message is a sentence for the user, in the language of what they have `said`,
    and what their operator may do is logged. Else a message is repeated where it was written for a reader: by Discreet,
    as a `ToolException`, or by the schema of the arguments, and then without their values. Of any other exception only
    the class is told: its text may hold host names, SQL or keys.

    Raises:
        GraphBubbleUp: `error` is LangGraph's own signal, such as a pause, and no failure.
    """
    if isinstance(error, GraphBubbleUp):
        raise error
    failure = _failure(error, said)
    tool_errors.labels(failure.code).inc()
    logger.info("tool_failed code=%s cause=%s", failure.code, type(error).__name__)
    return json.dumps({"error": failure._asdict()}, ensure_ascii=False)


def _failure(error: Exception, said: str) -> _Failure:
    if isinstance(error, StorageError | ProviderError):
        logger.warning("tool_unavailable code=%s advice=%s", error.code, error)
        return _Failure(error.code, render_reply("unavailable", said), isinstance(error, StorageUnavailableError))
    if isinstance(error, DiscreetError):
        return _Failure(error.code, str(error), isinstance(error, CallLimitError))
    if isinstance(error, ToolInvocationError | ValidationError):
        return _Failure(INVALID_ARGUMENTS, _problems(_details(error)))
    if isinstance(error, ToolException):
        return _Failure(FAILED, str(error) or "The tool failed.")
    if isinstance(error, TimeoutError):
        return _Failure(TIMEOUT, "The tool took too long. Try again, or go on without it.", retryable=True)
    return _Failure(FAILED, f"The tool failed: {type(error).__name__}.")


def _details(error: ToolInvocationError | ValidationError) -> Iterable[Mapping[str, Any]]:
    if isinstance(error, ValidationError):
        return error.errors()
    return error.source.errors() if error.filtered_errors is None else error.filtered_errors


def _problems(details: Iterable[Mapping[str, Any]]) -> str:
    """Return each field with what is wrong with it."""
    return "; ".join(f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {_said(each)}" for each in details)


def _said(detail: Mapping[str, Any]) -> str:
    """Return the schema's message; one that repeats the value is left out."""
    message = str(detail["msg"])
    if detail["type"] in PYDANTICS_OWN:
        return message
    values = [text for text in _texts(detail.get("input")) if text]
    return "This value can't be taken" if any(text in message for text in values) else message


def _texts(value: object) -> Iterable[str]:
    """Yield the values in `value` as they may stand in a message."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _texts(item)
    elif value is not None:
        yield str(value)


def check_arguments(request: ToolCallRequest, redactor: TextRedactor) -> None:
    """Refuse a call with placeholders of `redactor` among its arguments, keys included, unless the tool takes them.

    Raises:
        UnresolvedPlaceholderError: It names their types, so that the model can ask for the values.
    """
    if request.tool is not None and (request.tool.metadata or {}).get(PLACEHOLDERS):
        return
    pattern = redactor.placeholders if isinstance(redactor, Marking) else _built_in()
    written = json.dumps(request.tool_call["args"], ensure_ascii=False, default=str)
    if kinds := {match["kind"] for form in (TAGGED, pattern) for match in form.finditer(written)}:
        raise UnresolvedPlaceholderError(kinds)


@cache
def _built_in() -> re.Pattern[str]:
    from discreet.redaction.recognisers import DEFAULT  # compiles hundreds of patterns

    return placeholder_pattern(recogniser.type for recogniser in DEFAULT)

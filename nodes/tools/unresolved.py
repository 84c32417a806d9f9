"""Let no tool run with a placeholder in the place of a value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from langgraph.prebuilt.tool_node import ToolCallRequest

from discreet.errors import UnresolvedPlaceholderError
from discreet.ports import Marking, TextRedactor
from discreet.redaction.placeholders import TAGGED, placeholder_pattern

PLACEHOLDERS = "placeholders"
"""Key of a tool's `metadata`: true if the tool takes placeholders for what they are, as the memory tools do."""


def check_arguments(request: ToolCallRequest, redactor: TextRedactor) -> None:
    """Refuse a call with placeholders of `redactor` among its arguments, keys included, unless the tool takes them.

    Raises:
        UnresolvedPlaceholderError: It names their types, so that the model can ask for the values.
    """
    if request.tool is not None and (request.tool.metadata or {}).get(PLACEHOLDERS):
        return
    pattern = redactor.placeholders if isinstance(redactor, Marking) else _built_in()
    texts = list(_texts(request.tool_call["args"]))
    kinds = {match["kind"] for text in texts for form in (TAGGED, pattern) for match in form.finditer(text)}
    if kinds:
        raise UnresolvedPlaceholderError(kinds)


@cache
def _built_in() -> re.Pattern[str]:
    from discreet.redaction.recognisers import DEFAULT  # compiles hundreds of patterns

    return placeholder_pattern(recogniser.type for recogniser in DEFAULT)


def _texts(value: object) -> Iterable[str]:
    """Yield the texts in JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)

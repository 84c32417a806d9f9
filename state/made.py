"""How an answer of a model was made: what its response metadata tells in the running turn."""

from __future__ import annotations

from typing import Final

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

MADE: Final = "made"
"""Key of the response metadata."""


class Made(TypedDict, total=False):
    """How an answer was made. None of it is said by the user or the model."""

    model: str
    prompt: str
    last_words: bool
    """Whether no further tool calls were allowed."""

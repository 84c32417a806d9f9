"""Make something of a chat model once: its tools bound, its client without retries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from langchain_core.language_models import BaseChatModel

T = TypeVar("T")

MAX_MODELS = 16
"""An application has a few; one that makes a new model each time finds nothing here, and fills no memory."""


class PerModel(Generic[T]):
    """A function of a chat model that is called once for each. Models can't be hashed: they are known by identity."""

    def __init__(self, make: Callable[[BaseChatModel], T]) -> None:
        """Remember what `make` returns."""
        self._make = make
        self._made: dict[int, tuple[BaseChatModel, T]] = {}

    def __call__(self, model: BaseChatModel) -> T:
        """Return what was made of `model`. Two threads may both make it."""
        found = self._made.get(id(model))
        if found is None:  # a model that is held keeps its id
            if len(self._made) >= MAX_MODELS:
                self._made.clear()
            found = self._made[id(model)] = model, self._make(model)
        return found[1]

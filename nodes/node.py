"""What the `make_…` functions return: one coroutine with an async and a blocking face."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import set_config_context, var_child_runnable_config

from discreet.access.epochs import begun
from discreet.background_loop import wait_for
from discreet.nodes.input_check import InputCheck
from discreet.nodes.masking import TurnMask
from discreet.nodes.requests import beginning_of
from discreet.spans import span
from discreet.state.message_text import as_spoken

State = Any
"""A graph's state, whatever its schema: a mapping, a dataclass or a pydantic model. A narrower annotation would make
LangGraph hand a node only the keys of that schema, and the nodes serve other people's graphs too."""

Update = dict[str, Any] | list[Any]
"""What a node changes in the state, by key, or several such and commands. Keys that the graph's schema does not have are
ignored by LangGraph."""


def read(state: State, key: str, default: Any = None) -> Any:
    """Return what the state has under `key`; `default` if it has nothing there."""
    found = state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)
    return default if found is None else found


def messages_in(state: State, key: str) -> list[BaseMessage]:
    """Return the messages that the state has under `key`, those of any role as the user's or the model's that they are."""
    return [as_spoken(message) for message in read(state, key, ())]


class Node(Runnable[State, Update]):
    """A node for `add_node`, in graphs that run by `ainvoke` and `astream` as in those that run by `invoke` and `stream`.

    The blocking face runs the same coroutine on one background event loop, see `discreet.background_loop`: a storage for
    it is opened by `discreet.storage.open_storage_sync`, or belongs to another running loop.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[State], Coroutine[Any, Any, Update]],
        *,
        check: InputCheck | None = None,
        mask: TurnMask | None = None,
        request_key: str | None = "request",
    ) -> None:
        """Call `work` with the state; its result is the update. `name` is the node's by default.

        What `work` stores is refused if the user was erased since the turn under `request_key` began; None: it begins here.

        `check` tells of a run's input whether this node would refuse it, where it is the first. `mask` is what it masks
        messages with: whoever shows a graph's answers puts the values back from the same vault.
        """
        self.name = name
        self.check = check
        self.mask = mask
        self._given = work
        self._request_key = request_key

    def __call__(self, state: State) -> Coroutine[Any, Any, Update]:
        """Return the update, to be awaited."""
        return self._work(state)

    async def _work(self, state: State) -> Update:
        request = None if self._request_key is None else read(state, self._request_key)
        with begun(beginning_of(request)), span(f"node.{self.name}"):
            return await self._given(state)

    async def ainvoke(self, input: State, config: RunnableConfig | None = None, **_kwargs: Any) -> Update:
        """Return the update."""
        if config is None or var_child_runnable_config.get() is not None:
            return await self._work(input)
        with set_config_context(config) as context:  # called by hand, not by a graph
            return await asyncio.create_task(self._work(input), context=context)

    def invoke(self, input: State, config: RunnableConfig | None = None, **_kwargs: Any) -> Update:
        """Return the update, blocking."""
        return wait_for(self.ainvoke(input, config))

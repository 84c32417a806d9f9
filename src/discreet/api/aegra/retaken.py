"""Begin a run anew with what its request said, if the worker that had begun it was killed before a node was done."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final, cast

from langgraph.checkpoint.base import Checkpoint
from langgraph.constants import START
from langgraph.graph.state import CompiledStateGraph

RESUMING: Final = "__pregel_resuming"
"""Key of `configurable` by which LangGraph is told whether to go on where a thread stands."""


class RetakenGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A graph that a server may run again under the id of a run.

    LangGraph goes on where that run was, and drops the input that comes with it: nodes would get the message from the
    checkpoint, with placeholders and without media. Behind a guard, which puts the real input in.
    """

    async def astream(self, input: Any, config: Any = None, **options: Any) -> AsyncGenerator[Any]:  # noqa: A002  # LangGraph's name
        """Do what the graph's own `astream` does."""
        if isinstance(input, Mapping) and await self._has_only_begun(config):
            config = {**config, "configurable": {**config["configurable"], RESUMING: False}}
        source = cast("Any", super().astream(input, config, **options))
        del input, config, options  # a traceback shows the variables of this frame
        async with aclosing(source) as events:
            async for event in events:
                yield event

    async def _has_only_begun(self, config: Any) -> bool:
        run = ((config or {}).get("configurable") or {}).get("run_id")
        if run is None or isinstance(self.checkpointer, bool | None):
            return False
        last = await self.checkpointer.aget_tuple(config)
        return last is not None and last.metadata.get("run_id") == run and self._is_untouched(last.checkpoint)

    def _is_untouched(self, last: Checkpoint) -> bool:
        """Whether no node has been run since the thread's last input."""
        put = _number(last["channel_versions"].get(START))
        nodes = self.nodes.keys() - {START}
        seen = (version for node in nodes for version in last["versions_seen"].get(node, {}).values())
        return all(_number(version) < put for version in seen)


def _number(version: Any) -> int:
    """Return the number of a version; checkpointers put noise behind it."""
    return int(str(version or 0).partition(".")[0])

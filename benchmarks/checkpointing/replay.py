"""What a graph asks of its checkpointer, recorded once, so that only the checkpointer is measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from checkpointing.conversation import Conversation
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.memory import InMemorySaver

Calls = list[tuple[str, tuple[Any, ...]]]


class Recorder(InMemorySaver):
    """Notes each call of a run, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Calls = []

    async def aget_tuple(self, config: RunnableConfig) -> Any:
        """Note a read."""
        self.calls.append(("aget_tuple", (config,)))
        return await super().aget_tuple(config)

    async def aput(self, config: RunnableConfig, *args: Any) -> RunnableConfig:
        """Note a checkpoint."""
        self.calls.append(("aput", (config, *args)))
        return await super().aput(config, *args)

    async def aput_writes(self, config: RunnableConfig, *args: Any) -> None:
        """Note the writes of a task."""
        self.calls.append(("aput_writes", (config, *args)))
        await super().aput_writes(config, *args)


async def record(talk: Conversation, turns: int) -> Calls:
    """Return the calls of a conversation."""
    recorder = Recorder()
    graph = talk.compile(recorder)
    for _ in range(turns):
        await graph.ainvoke(talk.say(), {"configurable": {"thread_id": "recorded"}}, durability="sync")
    return recorder.calls


async def replay(saver: Any, calls: Calls, thread_id: str) -> int:
    """Make the calls on a thread of its own, one after the other; return how many checkpoints they are.

    As a graph does, each turn goes on with the messages that its read returned.
    """
    read: list[BaseMessage] = []
    earlier: set[str | None] = set()
    recorded: list[BaseMessage] = []
    for method, (config, *args) in calls:
        if method == "aput":
            recorded = args[0]["channel_values"].get("messages", [])
            args[0] = _with_messages(args[0], [*read, *(m for m in recorded if m.id not in earlier)])
        answer = await getattr(saver, method)(_moved(config, thread_id), *args)
        if method == "aget_tuple" and answer is not None:
            read = answer.checkpoint["channel_values"]["messages"]
            earlier = {message.id for message in recorded}
    return checkpoints(calls)


def checkpoints(calls: Sequence[tuple[str, Any]]) -> int:
    """Return how many checkpoints `calls` hold."""
    return sum(method == "aput" for method, _ in calls)


def _with_messages(checkpoint: Checkpoint, messages: Sequence[BaseMessage]) -> Checkpoint:
    return {**checkpoint, "channel_values": {**checkpoint["channel_values"], "messages": messages}}


def _moved(config: RunnableConfig, thread_id: str) -> RunnableConfig:
    return {**config, "configurable": {**config["configurable"], "thread_id": thread_id}}

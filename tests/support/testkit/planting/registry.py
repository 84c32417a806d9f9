"""Know all kinds of threads by name, and go on with any of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from testkit.planting.scenarios import agents, channels, edits, functional, nested, pauses, sends
from testkit.planting.scenarios.base import Scenario
from testkit.planting.sessions import Session
from testkit.planting.turns import turn

SCENARIOS: Mapping[str, Scenario] = {
    "support": agents.SUPPORT,
    "sub_agent": agents.SUB_AGENT,
    "media": agents.MEDIA,
    "encrypted": agents.ENCRYPTED,
    "channels": channels.CHANNELS,
    "pickled": channels.PICKLED,
    "edited": edits.EDITED,
    "deltas": edits.DELTAS,
    "functional": functional.FUNCTIONAL,
    "nested": nested.NESTED,
    "paused": pauses.PAUSED,
    "resumed": pauses.RESUMED,
    "failed": pauses.FAILED,
    "sends": sends.SENDS,
    "commands": sends.COMMANDS,
}
"""Name of the graph in the manifest -> kind of thread."""


async def continue_thread(graph_name: str, saver: BaseCheckpointSaver[Any], thread_id: str) -> int:
    """Load a thread by stock LangGraph, run one more turn, and return how many messages it has then.

    `saver` is a stock one with the serializer that the manifest names. It fails if a value can't be used as what it was.
    """
    scenario = SCENARIOS[graph_name]
    session = Session(scenario.graph, saver, thread_id)
    with turn():
        await scenario.more(session)
    return await count_messages(session)


async def count_messages(session: Session) -> int:
    """Return how many messages the latest state has."""
    values = (await session.state()).values
    return len((values or {}).get("messages", ()))

"""Run the turns of visitors over the template graph of this process."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import secrets
from collections.abc import Callable
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool

from discreet.api.playground.stored import StoredTable, digests_of, stored_tables
from discreet.api.playground.turn import Turn
from discreet.api.playground.visitors import Conversation, Visitor
from discreet.api.playground.watching import watched, watching
from discreet.errors import DiscreetError
from discreet.graph import TurnRunner
from discreet.graph.compiled import compiled_graph
from discreet.graph.streams import PromptWatch
from discreet.providers.chat import default_model
from discreet.settings import Settings
from discreet.state.context import Context
from discreet.storage import Storage

logger = logging.getLogger(__name__)

STOPPED = "Stopped."


class Playground:
    """Talks to the assistant for visitors, and reads what the database holds of them.

    The storage is asked for with the first turn, on the event loop that serves.
    """

    def __init__(self, storage: Callable[[], Storage], settings: Settings) -> None:
        self._storage = storage
        self._settings = settings
        self.model = default_model(settings)
        """The name of the model that answers."""
        self._runner: TurnRunner | None = None
        self._making = asyncio.Lock()

    def say(self, visitor: Visitor, text: str) -> bool:
        """Begin a turn of the visitor's conversation; False, and nothing is begun, while another one runs."""
        conversation = visitor.conversation
        if conversation.is_running:
            return False
        turn = Turn(said=text)
        conversation.add(turn)
        conversation.task = asyncio.create_task(self._run(turn, visitor.user_id, conversation))
        return True

    async def stored(self, visitor: Visitor) -> list[StoredTable]:
        """Return all rows that the database has of the person who speaks.

        Raises:
            StorageError: It can't be read.
        """
        return await stored_tables(self._storage(), visitor.user_id)

    async def _run(self, turn: Turn, user_id: str, conversation: Conversation) -> None:
        config: dict[str, Any] = {
            "configurable": {"thread_id": conversation.thread_id},
            "callbacks": [PromptWatch(turn.ask)],
        }
        try:
            turn.before = digests_of(await stored_tables(self._storage(), user_id))
            runner = await self._runner_of_process()
            with watched(turn):
                async for mode, event in runner.astream(
                    {"messages": [HumanMessage(turn.said)]},
                    config,
                    context=Context(user_id=user_id),
                    stream_mode=["messages", "updates"],
                ):
                    turn.hear(event) if mode == "messages" else turn.take(event)
        except DiscreetError as error:
            turn.error = str(error)
        except asyncio.CancelledError:
            turn.error = STOPPED
            raise
        except Exception as error:  # noqa: BLE001  # each provider's client has errors of its own, and the page goes on
            logger.warning("playground.turn_failed cause=%s", type(error).__name__)
            turn.error = f"{type(error).__name__}: {error}"
        finally:
            turn.is_running = False

    async def _runner_of_process(self) -> TurnRunner:
        async with self._making:
            if self._runner is None:
                storage = self._storage()
                seen = dataclasses.replace(storage, memories=watching(storage.memories))
                graph = await compiled_graph(seen, settings=self._settings, tools=[_order_tool()])
                self._runner = TurnRunner(graph)
        return self._runner


def _order_tool() -> BaseTool:
    """Return a tool whose result nobody would want on a disk."""
    place = f"WAREHOUSE-{secrets.token_hex(6)}"

    @tool
    def lookup_order(order_id: str) -> str:
        """Look up where an order is."""
        return f"{order_id} lies in {place}; the driver's telephone is +1 212 555 0199."

    return lookup_order

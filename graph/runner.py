"""Run turns for a service: each message once, whatever is down, with the real values for its owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig

from discreet.background_loop import wait_for
from discreet.checkpoint.messages import is_answer
from discreet.graph.deliveries import Deliveries, Delivery
from discreet.graph.outage import Graph, run_through_outage
from discreet.nodes.masking import failed, turn_key
from discreet.nodes.run import run_of
from discreet.nodes.thread_jobs import drain
from discreet.nodes.turn import turn_start
from discreet.ports import Done, Running, ShortTermStore, TurnVault
from discreet.prompts.still_working import render_still_working
from discreet.redaction import resolve
from discreet.redaction.vault import default_vault
from discreet.settings import load_settings

DELIVERY = "delivery"
"""Key in `response_metadata` of an answer that no run of its own gave; its value is `repeated` or `still_working`."""


class TurnRunner:
    """Runs a compiled graph, one turn a call.

    A message that is delivered again gets the first one's answer, or a polite reply while that is still being made: a text
    for three seconds, a recording for as long as its answer is kept (24 h). If the checkpointer can't be reached the turn
    is answered all the same, from what the short-term store has of the thread, and is not kept; a log event and a metric
    say so. Placeholders in what is returned are the real values again, as far as the turn's vault has them.

    Example:
        >>> from langgraph.checkpoint.memory import InMemorySaver
        >>> from discreet.graph import build_graph
        >>> from discreet.state.context import Context
        >>> graph = build_graph(chat_model="offline").compile(checkpointer=InMemorySaver())
        >>> runner = TurnRunner(graph)
        >>> thread = {"configurable": {"thread_id": "1"}}
        >>> state = runner.invoke({"messages": [("user", "Hello!")]}, thread, context=Context(user_id="ann"))
        >>> state["messages"][-1].type
        'ai'
    """

    def __init__(
        self,
        graph: Graph,
        *,
        short_term: ShortTermStore | None = None,
        vault: TurnVault | None = None,
        default_user: str | None = None,
        max_media_bytes: int | None = None,
        messages_key: str = "messages",
    ) -> None:
        """Run `graph`.

        Args:
            graph: Compiled, with whatever checkpointer.
            short_term: Where deliveries are claimed, for example `storage.short_term`; None: every delivery runs.
            vault: The one that the graph's nodes have; by default the process's.
            default_user: user_id for runs that name none.
            max_media_bytes: As the graph has it. Default: DISCREET_MAX_MEDIA_BYTES.
            messages_key: State key of the messages.
        """
        self._graph = graph
        self._short_term = short_term
        self._deliveries = Deliveries(short_term, max_media_bytes=max_media_bytes or load_settings().max_media_bytes)
        self._vault = vault or default_vault()
        self._default_user = default_user
        self._key = messages_key

    def invoke(
        self,
        input: Mapping[str, Any],  # noqa: A002  # LangGraph's name
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
    ) -> dict[str, Any]:
        """Do what `ainvoke` does, blocking."""
        return wait_for(self.ainvoke(input, config, context=context))

    async def ainvoke(
        self,
        input: Mapping[str, Any],  # noqa: A002  # LangGraph's name
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
    ) -> dict[str, Any]:
        """Run one turn and return the state after it, as the graph's own `ainvoke` does.

        Raises:
            InputError: The message is refused, or the user_id can't be used.
            StorageUnavailableError: The checkpointer failed while the turn was under way.
        """
        run = run_of((config or {}).get("configurable") or {}, context, default_user=self._default_user)
        messages = convert_to_messages(input.get(self._key) or [])
        delivery, claim = await self._deliveries.claim(run, messages[-1] if messages else None)
        if isinstance(claim, Done):
            return {self._key: [*messages, await self._repeated(delivery, claim.answer)]}
        if isinstance(claim, Running):
            reply = render_still_working(str(messages[-1].text))
            return {self._key: [*messages, AIMessage(reply, response_metadata={DELIVERY: "still_working"})]}
        try:
            state = await run_through_outage(
                self._graph,
                {**input, self._key: messages},
                config,
                context=context,
                run=run,
                short_term=self._short_term,
                messages_key=self._key,
            )
        except BaseException:  # cancelled or failed, the message was not answered: its next delivery is
            await self._deliveries.release(delivery, claim)
            raise
        said: list[BaseMessage] = state.get(self._key) or []
        start = turn_start(said)
        values = {} if start is None else await self._values(turn_key(run.thread_id, said[start].id))
        if answer := _answer(said):
            await self._keep_values(delivery, values)
            await self._deliveries.finish(delivery, claim, answer)
        return {**state, self._key: [_resolved(message, values) for message in said]}

    async def aclose(self) -> None:
        """Wait for the work beside the turns, 20 seconds at most; before the storage is closed."""
        await drain()

    async def _repeated(self, delivery: Delivery | None, answer: str) -> AIMessage:
        """Return the answer that the first delivery got."""
        values = {} if delivery is None else await self._values(delivery.work.ref)
        return AIMessage(resolve(answer, values), response_metadata={DELIVERY: "repeated"})

    async def _keep_values(self, delivery: Delivery | None, values: Mapping[str, str]) -> None:
        """Let further deliveries have the values too, while the vault has them."""
        if delivery is None or not values:
            return
        try:
            await self._vault.ahold(delivery.work.ref, values)
        except Exception as error:  # noqa: BLE001  # placeholders stay, whatever a foreign vault raises
            failed("hold", error)

    async def _values(self, key: str) -> dict[str, str]:
        try:
            return await self._vault.avalues(key)
        except Exception as error:  # noqa: BLE001  # as above
            failed("values", error)
            return {}


def _answer(messages: Sequence[BaseMessage]) -> str:
    """Return the answer that ends the turn, redacted; empty if it paused."""
    return str(messages[-1].text) if messages and is_answer(messages[-1]) else ""


def _resolved(message: BaseMessage, values: Mapping[str, str]) -> BaseMessage:
    if not isinstance(message, HumanMessage | AIMessage) or not isinstance(message.content, str):
        return message
    text = resolve(message.content, values)
    return message if text == message.content else message.model_copy(update={"content": text})

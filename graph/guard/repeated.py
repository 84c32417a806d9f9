"""Answer a second delivery of a message with what the first one's run gave: a server has a run for each."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langchain_core.messages import AIMessage
from langgraph.types import StateSnapshot

from discreet.checkpoint.answers import is_answer
from discreet.errors import DiscreetError
from discreet.graph.again import messages_in, paused_parts, repeated_parts
from discreet.graph.deliveries import AGAIN, DELIVERY, Deliveries, Delivery
from discreet.graph.guard.requests import Call
from discreet.graph.once import TASK
from discreet.graph.streams import Shape, reply_parts
from discreet.nodes.input_check import messages_of
from discreet.nodes.run import run_of
from discreet.ports import Claim, Done, Running, of_thread
from discreet.prompts.texts import render_reply
from discreet.state.message_text import text_of
from discreet.state.request_ref import REQUEST_DELIVERY

if TYPE_CHECKING:
    from discreet.graph.guard.graph import GuardedGraph


async def claim_run(deliveries: Deliveries, call: Call) -> tuple[Delivery | None, Claim | None]:
    """Return whose turn a run's message is; None where its request has no name for it."""
    name = call.configurable.get(REQUEST_DELIVERY)
    if not isinstance(name, str) or TASK in call.configurable:
        return None, None
    try:
        user = run_of(call.configurable, call.options.get("context")).user_id
    except DiscreetError:
        return None, None  # the graph refuses it with the same error
    return (None, None) if user is None else await deliveries.claim_named(user, name, call.run_id or str(uuid4()))


def is_again(call: Call) -> bool:
    """Tell whether a run's message was delivered before."""
    return str(call.configurable.get(REQUEST_DELIVERY, "")).startswith(AGAIN)


async def chain_events(parts: AsyncGenerator[Any], call: Call, name: str) -> AsyncGenerator[Any]:
    """Yield what a run yields as the callback events of its graph."""
    async for part in parts:
        about: dict[str, Any] = {"name": name, "run_id": call.run_id, "parent_ids": [], "tags": [], "metadata": {}}
        yield {"event": "on_chain_stream", **about, "data": {"chunk": part}}


class AnswerWatch:
    """Sees how the turn of a run ends: its state goes by with the events, whether it was asked for or not."""

    def __init__(self, call: Call, key: str) -> None:
        """Have `call` yield its state too."""
        modes = call.options["stream_mode"]
        self._asked = isinstance(modes, str) or "values" in modes
        self._key = key
        if not self._asked:
            call.options["stream_mode"] = [*modes, "values"]
        self._v2 = call.options.get("version") == "v2"
        self._alone = isinstance(modes, str)
        self._subgraphs = bool(call.options.get("subgraphs"))
        self.answer: str | None = None
        """The redacted answer that the last state ends with; empty if it ends otherwise. None: no state was seen."""

    def passes(self, event: Any) -> bool:
        """Look at an event; return whether whoever called asked for it."""
        place, mode, data = self._opened(event)
        if mode != "values":
            return True
        if not place:
            messages = messages_in(data, self._key)
            self.answer = text_of(messages[-1]) if messages and is_answer(messages[-1]) else ""
        return self._asked

    def _opened(self, event: Any) -> tuple[Any, Any, Any]:
        if self._v2:
            return event["ns"], event["type"], event["data"]
        if self._alone:
            return None, None, None
        return event if self._subgraphs else (None, *event)


async def repeated(graph: GuardedGraph, call: Call, claim: Done | Running) -> AsyncGenerator[Any]:
    """Yield what a run gives whose message another run has answered; nothing is run or stored.

    It is the state of the thread up to the answer, or a request for patience.
    """
    key, options = graph.messages_key, call.options
    shape = Shape(options["stream_mode"], bool(options.get("subgraphs")), options.get("version") or "v1")
    said = messages_of(call.input.get(key)) if isinstance(call.input, Mapping) else []
    if isinstance(claim, Running):
        text = render_reply("still_working", text_of(said[-1]) if said else "")
        reply = AIMessage(text, response_metadata={DELIVERY: "still_working"})
        parts = reply_parts(said, reply, shape, node=DELIVERY, messages_key=key)
    elif claim.answer:
        redactor = of_thread(graph.guard.redactor, call.thread_id)
        parts = repeated_parts(said, claim.answer, await _state(graph, call), shape=shape, key=key, redactor=redactor)
    else:
        state = await _state(graph, call)
        values, interrupts = ({key: said}, ()) if state is None else (state.values, state.interrupts)
        parts = paused_parts(values, interrupts, shape)
    for part in parts:
        yield shape.shaped(part)


async def _state(graph: GuardedGraph, call: Call) -> StateSnapshot | None:
    if call.thread_id is None:
        return None
    try:
        return await graph.aget_state(call.config)
    except ValueError:  # LangGraph's way to say that the graph has no checkpointer
        return None

"""The node `memory_gate`, the small chat model that it may ask, and the edge after it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from discreet.metrics import gate_decisions, gate_failures
from discreet.nodes.masking import TurnMask
from discreet.nodes.memory_gate.deciding import UNSURE, Decide, GateDecision, decide_by_rules
from discreet.nodes.memory_gate.deciding import decide as default_decide
from discreet.nodes.node import Node, State, Update, messages_in, read
from discreet.nodes.opening import TurnOpening
from discreet.nodes.query import query_of
from discreet.nodes.rounds import rounds_of
from discreet.nodes.run import describe_run
from discreet.nodes.turn import turn_start
from discreet.ports import SpokenRound
from discreet.prompts.memory_gate import as_message, render_memory_gate
from discreet.redaction import untagged
from discreet.state.conversation import Gate, Request
from discreet.state.message_text import text_of

logger = logging.getLogger(__name__)

NO_STREAM = "nostream"
"""LangGraph's tag (`langgraph.constants.TAG_NOSTREAM`) for a model whose words are not part of the answer."""

MAX_TOKENS = 5
ANSWERS = {"USE": True, "SKIP": False}

FAILED = GateDecision(retrieve=True, reason="failed")


def make_memory_gate(
    *,
    decide: Decide = default_decide,
    small_model: BaseChatModel | None = None,
    timeout: float = 1.0,
    mask: TurnMask | None = None,
    opening: TurnOpening | None = None,
    default_user: str | None = None,
    messages_key: str = "messages",
    request_key: str = "request",
    gate_key: str = "gate",
) -> Node:
    """Return the node `memory_gate`, which puts its decision under `gate_key`. It never fails a turn.

    Args:
        decide: Called with the message and the round before it, None if there is none; it may block, it runs in a thread. An error retrieves: a log event and a metric say so.
        small_model: Asked about what `decide` calls "unsure"; with the default `decide`, instead of the fitted score.
        timeout: Seconds that the small model has; then the turn retrieves.
        mask: Has what was said in a recording; by default the process's.
        opening: Opens the turns that skip retrieval.
        default_user: user_id for runs that name none.
        messages_key: State key of the messages.
        request_key: State key of the running turn.
        gate_key: State key of the decision, a `Gate`.
    """
    if small_model is not None and decide is default_decide:
        decide = decide_by_rules

    mask = mask or TurnMask()

    async def decided(state: State) -> GateDecision:
        try:
            text = await query_of(state, mask, messages_key=messages_key)
            messages = messages_in(state, messages_key)
            previous = _previous_round(messages)
            decision = await asyncio.to_thread(decide, text, previous)
        except Exception as error:  # noqa: BLE001  # memory fails open, whatever a foreign `decide` raises
            cause = type(error).__name__
            gate_failures.labels("decide", cause).inc()
            logger.warning("gate_failed cause=%s", cause)
            return FAILED
        if small_model is not None and decision == UNSURE:
            return await _ask(small_model, text, previous, timeout=timeout)
        return decision

    async def memory_gate(state: State) -> Update:
        decision = await decided(state)
        gate_decisions.labels("retrieve" if decision.retrieve else "skip", decision.reason).inc()
        gate = {gate_key: Gate(retrieve=decision.retrieve, reason=decision.reason)}
        request: Request | None = read(state, request_key)
        if opening is None or request is None or decision.retrieve:
            return gate
        return {**gate, request_key: await opening.without_search(describe_run(default_user=default_user), request)}

    return Node("memory_gate", memory_gate)


def route_after_gate(state: State, *, gate_key: str = "gate") -> Literal["retrieve_memories", "assistant"]:
    """Return the next node: past retrieval on skip."""
    gate: Gate | None = read(state, gate_key)
    return "retrieve_memories" if gate is None or gate["retrieve"] else "assistant"


def _previous_round(messages: Sequence[BaseMessage]) -> SpokenRound | None:
    """Return the round before the running turn as memories have its text, None if there is none or it was not answered."""
    earlier = messages[: turn_start(messages) or 0]
    start = turn_start(earlier)
    rounds = [] if start is None else rounds_of(earlier[start:])
    if not rounds:
        return None
    spoken = rounds[-1].spoken
    return SpokenRound(said=untagged(spoken.said), answered=untagged(spoken.answered))


async def _ask(
    model: BaseChatModel,
    text: str,
    previous: SpokenRound | None = None,
    *,
    timeout: float,
) -> GateDecision:
    """Return the model's decision. What is no answer, comes after `timeout` seconds or not at all, retrieves."""
    prompt = [
        SystemMessage(render_memory_gate()),
        HumanMessage(as_message(text, (previous.said, previous.answered) if previous else ())),
    ]
    try:
        async with asyncio.timeout(timeout):
            said = await model.bind(temperature=0, max_tokens=MAX_TOKENS).ainvoke(prompt, {"tags": [NO_STREAM]})
    except Exception as error:  # noqa: BLE001  # any provider's error; memory fails open
        return _failed(type(error).__name__)
    answer = ANSWERS.get(text_of(said).strip().removesuffix(".").upper())
    return _failed("no_answer") if answer is None else GateDecision(retrieve=answer, reason="small_model")


def _failed(cause: str) -> GateDecision:
    gate_failures.labels("model", cause).inc()
    logger.warning("gate_model_failed cause=%s", cause)
    return GateDecision(retrieve=True, reason="model_failed")

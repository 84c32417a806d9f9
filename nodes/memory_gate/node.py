"""The node `memory_gate`, and the edge after it."""

from __future__ import annotations

import asyncio
import logging
from typing import Literal

from langchain_core.language_models import BaseChatModel

from discreet.metrics import gate_decisions, gate_failures
from discreet.nodes.masking import TurnMask
from discreet.nodes.memory_gate.before import previous_round
from discreet.nodes.memory_gate.deciding import Decide, decide_by_rules
from discreet.nodes.memory_gate.deciding import decide as default_decide
from discreet.nodes.memory_gate.decision import UNSURE, GateDecision
from discreet.nodes.memory_gate.small_model import ask
from discreet.nodes.node import Node, State, Update, messages_in, read
from discreet.nodes.query import query_of
from discreet.state.conversation import Gate

logger = logging.getLogger(__name__)

FAILED = GateDecision(retrieve=True, reason="failed")


def make_memory_gate(
    *,
    decide: Decide = default_decide,
    small_model: BaseChatModel | None = None,
    timeout: float = 1.0,
    mask: TurnMask | None = None,
    messages_key: str = "messages",
    gate_key: str = "gate",
) -> Node:
    """Return the node `memory_gate`, which puts its decision under `gate_key`. It never fails a turn.

    Args:
        decide: Called with the message and the round before it, None if there is none; it may block, it runs in a thread. An error retrieves: a log event and a metric say so.
        small_model: Asked about what `decide` calls "unsure"; with the default `decide`, instead of the prototypes.
        timeout: Seconds that the small model has; then the turn retrieves.
        mask: Has what was said in a recording; by default the process's.
        messages_key: State key of the messages.
        gate_key: State key of the decision, a `Gate`.
    """
    if small_model is not None and decide is default_decide:
        decide = decide_by_rules

    mask = mask or TurnMask()

    async def decided(state: State) -> GateDecision:
        try:
            text = await query_of(state, mask, messages_key=messages_key)
            messages = messages_in(state, messages_key)
            previous = previous_round(messages)
            decision = await asyncio.to_thread(decide, text, previous)
        except Exception as error:  # noqa: BLE001  # memory fails open, whatever a foreign `decide` raises
            cause = type(error).__name__
            gate_failures.labels("decide", cause).inc()
            logger.warning("gate_failed cause=%s", cause)
            return FAILED
        if small_model is not None and decision == UNSURE:
            return await ask(small_model, text, previous, timeout=timeout)
        return decision

    async def memory_gate(state: State) -> Update:
        decision = await decided(state)
        gate_decisions.labels("retrieve" if decision.retrieve else "skip", decision.reason).inc()
        return {gate_key: Gate(retrieve=decision.retrieve, reason=decision.reason)}

    return Node("memory_gate", memory_gate)


def route_after_gate(state: State, *, gate_key: str = "gate") -> Literal["retrieve_memories", "assistant"]:
    """Return the next node: past retrieval on skip."""
    gate: Gate | None = read(state, gate_key)
    return "retrieve_memories" if gate is None or gate["retrieve"] else "assistant"

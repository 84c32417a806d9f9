"""Ask a small chat model about what no rule decides."""

from __future__ import annotations

import asyncio
import logging

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from discreet.metrics import gate_failures
from discreet.nodes.memory_gate.decision import GateDecision
from discreet.ports import SpokenRound
from discreet.prompts.memory_gate import as_message, render_memory_gate
from discreet.state.message_text import text_of

logger = logging.getLogger(__name__)

NO_STREAM = "nostream"
"""LangGraph's tag (`langgraph.constants.TAG_NOSTREAM`) for a model whose words are not part of the answer."""

MAX_TOKENS = 5
ANSWERS = {"USE": True, "SKIP": False}


async def ask(
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

"""What people decide about tool calls, as LangChain's HumanInTheLoopMiddleware takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.nodes.masking import MaskedTurn

DECISIONS = frozenset({"approve", "edit", "reject", "respond"})


async def masked_decisions(answer: Any, turn: MaskedTurn) -> Any:
    """Return the answer to a pause with placeholders in the arguments and messages of decisions.

    A checkpointer keeps the answer, and the agent's state keeps edited arguments; tools get the values back. An answer of
    another form is what some node of yours asked for, and stays as it is.
    """
    if not isinstance(answer, Mapping):
        return answer
    if answer.get("type") in DECISIONS:
        return await _masked(answer, turn)
    if isinstance(answer.get("decisions"), list):
        return {**answer, "decisions": [await masked_decisions(each, turn) for each in answer["decisions"]]}
    return {key: await masked_decisions(each, turn) for key, each in answer.items()}  # by the id of the pause


async def _masked(decision: Mapping[str, Any], turn: MaskedTurn) -> dict[str, Any]:
    masked = dict(decision)
    if "message" in masked:
        masked["message"] = await turn.masked_value(masked["message"])
    action = masked.get("edited_action")
    if isinstance(action, Mapping) and "args" in action:
        masked["edited_action"] = {**action, "args": await turn.masked_value(action["args"])}
    return masked

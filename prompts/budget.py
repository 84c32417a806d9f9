"""How the context window of a model is divided among the parts of a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from discreet.errors import ContextWindowError

Part = Literal["system", "tools", "facts", "past", "summary", "rounds", "input"]
"""What a prompt consists of: instructions, definitions of tools, facts, past conversations, the summary of this one, its
earlier rounds, and the running turn."""

DEFAULT_WINDOW: Final = 8_000
"""Tokens of a model of which nobody says how many it takes; every chat model since 2023 takes that many."""

LEAST_ROOM: Final = 500
"""What a window has to have beside the instructions and the user's message: facts, rounds, tool results, an answer."""

LEAST_MEMORY: Final = 300
"""Of these for facts, summary and rounds, wherever the tool traffic of the running turn leaves so much."""

LEAST_ANSWER: Final = 100

RESERVE: Final = 200
"""What facts and past conversations are sure of beside rounds of any length: five facts of a long sentence each."""


@dataclass(frozen=True, kw_only=True)
class Rooms:
    """Tokens that the parts may take which can be shortened."""

    memory: int
    """Facts, past conversations, summary and rounds together."""
    results: int
    """These and the tool results of the running turn together."""


def divide(window: int, *, fixed: int, said: int, traffic: int = 0) -> Rooms:
    """Divide `window` tokens.

    A prompt takes at most half of them, so that a long conversation costs no more than a short one and leaves the model
    room to think. The user's message and the running turn's tool traffic come on top.

    Args:
        window: Tokens of prompt and answer together.
        fixed: What instructions and definitions of tools take.
        said: What the user's message takes.
        traffic: The least that the running turn's tool calls and results take.

    Raises:
        ContextWindowError: What can't be cut leaves less than `LEAST_ROOM`, or tool calls have used that up.
    """
    free = window - fixed - said - traffic
    if window < fixed + said + LEAST_ROOM or free < 2 * LEAST_ANSWER:
        raise ContextWindowError(window=window, instructions=fixed, message=said + traffic, least=LEAST_ROOM)
    left = free - min(window // 8, max(LEAST_ANSWER, free - LEAST_MEMORY))
    return Rooms(memory=min(left, max(window // 2 - fixed, LEAST_MEMORY)), results=left)

"""A conversation as rounds, and which of them stand verbatim in a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage

from discreet.checkpoint.messages import is_answer
from discreet.nodes.turn import turn_start
from discreet.ports import RollingSummary, SpokenRound

KEEP = 6
"""Rounds that stay verbatim, whatever the summary covers."""


@dataclass(frozen=True, kw_only=True)
class ThreadRound:
    """What the user said and what was answered, and where it stands in the thread."""

    spoken: SpokenRound
    start: int
    """Index of its first message."""
    answer_id: str | None
    """Id of the message that ends it."""
    said_ids: Sequence[str | None] = ()
    """Ids of the user's messages."""


def rounds_of(messages: Sequence[BaseMessage]) -> list[ThreadRound]:
    """Return the rounds of a conversation, oldest first.

    A round is what the user said since the answer before, and all that was answered until they spoke again. What was not
    answered yet, and an answer to nothing, is in no round. Nor is tool traffic.
    """
    rounds: list[ThreadRound] = []
    said: list[HumanMessage] = []
    answered: list[BaseMessage] = []
    start = 0
    for index, message in enumerate(messages):
        if isinstance(message, HumanMessage):
            if answered:
                rounds.append(_round(said, answered, start))
                said, answered = [], []
            if not said:
                start = index
            said.append(message)
        elif said and is_answer(message):
            answered.append(message)
    return [*rounds, _round(said, answered, start)] if answered else rounds


def belongs(summary: RollingSummary, rounds: Sequence[ThreadRound]) -> bool:
    """Whether `summary` was made of these rounds, and not of another branch of the thread or a longer one."""
    if not summary.rounds:
        return True
    return (
        summary.rounds <= len(rounds)
        and summary.last_message_id is not None
        and rounds[summary.rounds - 1].answer_id == summary.last_message_id
    )


def window(messages: Sequence[BaseMessage], summary: RollingSummary, keep: int = KEEP) -> list[BaseMessage]:
    """Return the running turn whole, before it the last `keep` rounds, and before those what `summary` does not cover.

    Tool traffic of earlier turns is left out: a dangling tool call makes providers refuse the whole request.
    """
    start = turn_start(messages)
    if start is None:
        return list(messages)
    rounds = rounds_of(messages[:start])
    first = max(0, min(len(rounds) - keep, summary.rounds))
    opening = rounds[first].start if first and first < len(rounds) else (0 if not first else _after(rounds, messages))
    kept = [m for m in messages[opening:start] if isinstance(m, HumanMessage) or is_answer(m)]
    return [*kept, *messages[start:]]


def _after(rounds: Sequence[ThreadRound], messages: Sequence[BaseMessage]) -> int:
    """Return the index behind the last round."""
    last = rounds[-1].answer_id
    return next(i for i in range(len(messages) - 1, -1, -1) if messages[i].id == last) + 1


def _round(said: Sequence[BaseMessage], answered: Sequence[BaseMessage], start: int) -> ThreadRound:
    spoken = SpokenRound(said=_joined(said), answered=_joined(answered))
    return ThreadRound(spoken=spoken, start=start, answer_id=answered[-1].id, said_ids=[message.id for message in said])


def _joined(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(message.content if isinstance(message.content, str) else str(message.text) for message in messages)

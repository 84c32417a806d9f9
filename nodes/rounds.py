"""A conversation as rounds, and which of them stand verbatim in a prompt."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage

from discreet.checkpoint.answers import is_answer
from discreet.checkpoint.kept_tools import kept_pairs
from discreet.checkpoint.message_ids import safe_id
from discreet.nodes.turn import turn_start
from discreet.ports import RollingSummary, SpokenRound
from discreet.state.message_text import is_persons, text_of

KEEP = 6
"""Rounds that stay verbatim, whatever the summary covers."""


class ThreadRound(NamedTuple):
    """What the user said and what was answered, and where it stands in the thread."""

    said: Sequence[BaseMessage]
    answered: Sequence[BaseMessage]
    start: int
    """Index of its first message."""

    @property
    def spoken(self) -> SpokenRound:
        """Its texts."""
        return SpokenRound(said=_joined(self.said), answered=_joined(self.answered))

    @property
    def answer_id(self) -> str | None:
        """Id of the message that ends it, as it is stored."""
        return safe_id(self.answered[-1].id)

    @property
    def said_ids(self) -> list[str | None]:
        """Ids of the user's messages."""
        return [message.id for message in self.said]


def rounds_of(messages: Sequence[BaseMessage]) -> list[ThreadRound]:
    """Return the rounds of a conversation, oldest first.

    A round is what the user said since the answer before, and all that was answered until they spoke again; a greeting before
    their first word belongs to the first. What was not answered yet is in no round. Nor is tool traffic.
    """
    rounds: list[ThreadRound] = []
    said: list[HumanMessage] = []
    greeting: list[BaseMessage] = []
    answered: list[BaseMessage] = []
    start = 0
    for index, message in enumerate(messages):
        if isinstance(message, HumanMessage) and is_persons(message):
            if answered:
                rounds.append(ThreadRound(said, [*greeting, *answered], start))
                said, greeting, answered = [], [], []
            if not said:
                start = index
            said.append(message)
        elif is_answer(message):
            (answered if said else greeting).append(message)
    return [*rounds, ThreadRound(said, [*greeting, *answered], start)] if answered else rounds


def belongs(summary: RollingSummary, rounds: Sequence[ThreadRound]) -> bool:
    """Whether `summary` was made of these rounds, and not of another branch of the thread or a longer one, and can be read."""
    if not summary.rounds:
        return True
    return (
        summary.is_readable
        and summary.rounds <= len(rounds)
        and summary.last_message_id is not None
        and rounds[summary.rounds - 1].answer_id == summary.last_message_id
    )


def window(
    messages: Sequence[BaseMessage],
    summary: RollingSummary,
    keep: int = KEEP,
    *,
    rounds: Sequence[ThreadRound] | None = None,
    tools: Collection[str] = (),
) -> list[BaseMessage]:
    """Return the running turn whole, before it the last `keep` rounds, and before those what `summary` does not cover.

    Of tool traffic of earlier turns the calls of `tools` stay, each with its result: providers refuse a request in which a call
    lacks its result. Who knows the `rounds` before the running turn hands them in.
    """
    start = turn_start(messages)
    if start is None:
        return list(messages)
    if rounds is None:
        rounds = rounds_of(messages[:start])
    first = max(0, min(len(rounds) - keep, summary.rounds))
    opening = rounds[first].start if first and first < len(rounds) else (0 if not first else _after(rounds, messages))
    pairs = kept_pairs(messages[:start], tools)
    kept: list[BaseMessage] = []
    asked = False
    for at, message in enumerate(messages[opening:start], opening):
        asked = asked or isinstance(message, HumanMessage)
        if isinstance(message, HumanMessage) or is_answer(message):
            kept.append(message)
        elif asked and at in pairs:  # a prompt begins with the user's words
            kept.append(pairs[at])
    return [*kept, *messages[start:]]


def _after(rounds: Sequence[ThreadRound], messages: Sequence[BaseMessage]) -> int:
    """Return the index behind the last round."""
    last = rounds[-1].answered[-1].id
    return next(i for i in range(len(messages) - 1, -1, -1) if messages[i].id == last) + 1


def _joined(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(map(text_of, messages))

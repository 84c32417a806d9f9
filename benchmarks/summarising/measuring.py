"""Play a thread round by round and look at the conversation part of each prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from summarising.threads import Thread

from discreet.nodes.rolling_summary import RollingSummariser
from discreet.ports import RollingSummaries, SummaryProvider, TokenCounter

MESSAGE_TOKENS = 4
"""What a message takes beside its text: its role and the marks around it (OpenAI's cookbook, "How to count tokens with
tiktoken": 3 and the role)."""

LOOKED_AT = range(10, 81, 10)
PEER_KEEP = 6


@dataclass(frozen=True)
class Look:
    """One prompt's conversation part."""

    rounds: int
    tokens: int
    """With the summary and the last rounds."""
    verbatim: int
    """With all rounds."""
    summary: int
    """Of it the summary."""
    kept: float
    """Share of the facts so far that it has."""
    peer: float
    """Share that the last six rounds alone have."""
    full: float
    """Share that all rounds have: what any of these could have at most."""

    @property
    def saved(self) -> float:
        """Share of the tokens that are saved."""
        return 1 - self.tokens / self.verbatim


async def play(
    thread: Thread, summaries: RollingSummaries, provider: SummaryProvider, count: TokenCounter, **options: Any
) -> list[Look]:
    """Return what the prompt looks like every ten rounds, when the next message comes."""
    summariser = RollingSummariser(summaries, provider, count, background=False, timeout=600, **options)
    looks = []
    for rounds in range(1, len(thread.rounds) + 1):
        messages = thread.messages(rounds)
        await summariser.after_turn("ann", thread.name, messages)
        if rounds in LOOKED_AT:
            summary = await summariser.current("ann", thread.name, messages)
            running = HumanMessage("", id="now")
            window = summariser.window([*messages, running], summary)[:-1]
            facts = [fact for fact in thread.facts if fact.round < rounds]

            def share(text: str, facts: Sequence = facts) -> float:
                return sum(fact.stands_in(text) for fact in facts) / len(facts) if facts else 1.0

            spent = count(summary.text) + MESSAGE_TOKENS if summary.text else 0
            looks.append(
                Look(
                    rounds=rounds,
                    tokens=spent + _tokens(window, count),
                    verbatim=_tokens(messages, count),
                    summary=spent,
                    kept=share("\n".join([summary.text, *_texts(window)])),
                    peer=share("\n".join(_texts(messages[-2 * PEER_KEEP :]))),
                    full=share("\n".join(_texts(messages))),
                )
            )
    return looks


def _tokens(messages: Sequence[BaseMessage], count: TokenCounter) -> int:
    return sum(count(text) + MESSAGE_TOKENS for text in _texts(messages))


def _texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [str(message.text) for message in messages]

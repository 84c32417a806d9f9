"""Choose the earlier rounds that fit: whole ones from the newest back, so that roles stay as providers want them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from discreet.prompts.cutting import Count, cut_middle

MESSAGE_TOKENS = 4
"""What a message takes besides its text: its role and two delimiters (OpenAI Cookbook, "How to count tokens")."""


def message_tokens(message: BaseMessage, count: Count) -> int:
    """Return the tokens of a message with its tool calls. Images and sound are not counted."""
    return _fixed_tokens(message, count) + count(str(message.text))


def split_rounds(messages: Sequence[BaseMessage]) -> list[list[BaseMessage]]:
    """Return the rounds: each a user's message and what follows it. What stands before the first is left out."""
    rounds: list[list[BaseMessage]] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            rounds.append([message])
        elif rounds:
            rounds[-1].append(message)
    return rounds


def fit_rounds(rounds: Sequence[list[BaseMessage]], limit: int, count: Count) -> tuple[list[list[BaseMessage]], int]:
    """Return the newest of `rounds` that take at most `limit` tokens, in their order, and the tokens they take.

    Where the newest alone is over the limit, it is kept without the middle of its texts.
    """
    kept: list[list[BaseMessage]] = []
    used = 0
    for said in reversed(rounds):
        fixed = sum(_fixed_tokens(message, count) for message in said)
        texts = [count(str(message.text)) for message in said]
        if used + fixed + sum(texts) > limit:
            if not kept and (shorter := _shortened(said, texts, limit - fixed, count)):
                return [shorter], sum(message_tokens(message, count) for message in shorter)
            break
        kept.append(said)
        used += fixed + sum(texts)
    return kept[::-1], used


def _fixed_tokens(message: BaseMessage, count: Count) -> int:
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    return MESSAGE_TOKENS + sum(count(call["name"]) + count(json.dumps(call["args"], default=str)) for call in calls)


def _shortened(said: Sequence[BaseMessage], tokens: Sequence[int], left: int, count: Count) -> list[BaseMessage]:
    """Return a round whose texts, of so many `tokens`, take at most what is `left`; empty if that says too little.

    Short texts leave their share to long ones.
    """
    shorter = list(said)
    for done, at in enumerate(sorted(range(len(said)), key=tokens.__getitem__)):
        share = left // (len(said) - done)
        if tokens[at] > share:
            text = cut_middle(str(said[at].text), share, count)
            if not text:
                return []
            shorter[at] = said[at].model_copy(update={"content": text})
            left -= count(text)
        else:
            left -= tokens[at]
    return shorter

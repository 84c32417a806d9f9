"""Shorten the tool results of the running turn where the window has no room for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from langchain_core.messages import BaseMessage, ToolMessage

from discreet.prompts.counting import Count, about, fixed_tokens, message_tokens
from discreet.prompts.cutting import cut_middle, fair_shares
from discreet.state.message_text import text_of

LEAST_RESULT: Final = 24
"""What is left of a result at least, its message included: a beginning and an end of some words."""

FAR: Final = 1.1
"""Times the limit: of what is estimated to be longer, the tokens are not counted."""

MARK: Final = " … (shortened: the middle is left out) … "


def least_tokens(results: Sequence[ToolMessage], count: Count) -> int:
    """Return what tool results take when they are as short as can be."""
    return sum(min(fixed_tokens(message, count) + about(text_of(message), count), LEAST_RESULT) for message in results)


def fit_results(running: Sequence[BaseMessage], limit: int, count: Count) -> tuple[list[BaseMessage], int]:
    """Return the turn with tool results that take at most `limit` tokens together, and how many were shortened.

    Of a long one the beginning and the end stay; short ones leave it their room.
    """
    sizes = [_size(message, limit, count) if isinstance(message, ToolMessage) else 0 for message in running]
    fitted = list(running)
    shortened = 0
    for at, share in enumerate(fair_shares(sizes, limit)):
        if sizes[at] > share:
            message = running[at]
            room = share - fixed_tokens(message, count)
            text = text_of(message)
            short = cut_middle(text, room, count, mark=MARK, tokens=sizes[at]) or cut_middle(text, room, count)
            fitted[at] = message.model_copy(update={"content": short or "…"})
            shortened += 1
    return fitted, shortened


def _size(message: ToolMessage, limit: int, count: Count) -> int:
    """Return the tokens of a result; about those of one that is far too long."""
    estimate = fixed_tokens(message, count) + about(text_of(message), count)
    return estimate if estimate > FAR * limit else message_tokens(message, count)

"""Shorten the running turn where the window has no room for all of it: tool results, and what tools were called with."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from discreet.prompts.fitting import Count, cut_middle, fair_shares, fixed_tokens, message_tokens
from discreet.state.message_text import text_of

LEAST_RESULT: Final = 24
"""What is left of a result at least, its message included: a beginning and an end of some words."""

MARK: Final = " … (shortened: the middle is left out) … "

LEFT: Final = "..."
"""What is left of a long argument at least."""

ARGUMENT_TOKENS: Final = (400, 100, 30, 0)
"""What a text among arguments may take, the first of them with which the calls fit."""


def least_tokens(results: Sequence[ToolMessage], count: Count) -> int:
    """Return what tool results take when they are as short as can be."""
    return sum(min(message_tokens(message, count), LEAST_RESULT) for message in results)


def fit_results(running: Sequence[BaseMessage], limit: int, count: Count) -> tuple[list[BaseMessage], int]:
    """Return the turn with tool results that take at most `limit` tokens together, and how many were shortened.

    Of a long one the beginning and the end stay; short ones leave it their room.
    """
    sizes = [message_tokens(message, count) if isinstance(message, ToolMessage) else 0 for message in running]
    fitted = list(running)
    shortened = 0
    for at, share in enumerate(fair_shares(sizes, limit)):
        if sizes[at] > share:
            message = running[at]
            room = share - fixed_tokens(message, count)
            text = text_of(message)
            short = cut_middle(text, room, count, mark=MARK) or cut_middle(text, room, count)
            fitted[at] = message.model_copy(update={"content": short or "…"})
            shortened += 1
    return fitted, shortened


def fit_calls(running: Sequence[BaseMessage], limit: int, count: Count) -> tuple[list[BaseMessage], int]:
    """Return the turn with messages of the model that take at most `limit` tokens, and how many calls were shortened for that.

    Only texts among the arguments are, of calls that have their results; those of the newest round only if the others are not
    enough. Where even that is not, the messages take more. The messages that are given stay as they are.
    """
    answered = {message.tool_call_id for message in running if isinstance(message, ToolMessage)}
    calling = [
        at
        for at, message in enumerate(running)
        if isinstance(message, AIMessage) and any(call["id"] in answered for call in message.tool_calls)
    ]
    fitted = list(running)
    for group in (calling[:-1], calling[-1:]):
        for most in ARGUMENT_TOKENS:
            if sum(message_tokens(message, count) for message in fitted if isinstance(message, AIMessage)) <= limit:
                break
            for at in group:
                fitted[at] = _with_short_calls(running[at], partial(_cut, limit=most, count=count), answered)
    pairs = zip(_calls(running), _calls(fitted), strict=True)
    return fitted, sum(short != call for call, short in pairs)


def _calls(messages: Sequence[BaseMessage]) -> list[Any]:
    return [call["args"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]


def _cut(text: str, limit: int, count: Count) -> str:
    """Return `text` in about `limit` tokens of JSON, which escapes some characters."""

    def counted(part: str) -> int:
        return count(json.dumps(part))

    if counted(text) <= max(limit, counted(LEFT)):
        return text
    return cut_middle(text, limit, counted, mark=MARK) or cut_middle(text, limit, counted) or LEFT


def _with_short_calls(message: BaseMessage, cut: Callable[[str], str], answered: set[str]) -> BaseMessage:
    """Return `message` with the texts in arguments of its answered calls cut, in its content blocks too."""
    given = message.tool_calls if isinstance(message, AIMessage) else []
    calls = [{**call, "args": _replaced(call["args"], cut)} if call["id"] in answered else call for call in given]
    named = {call["id"]: call["args"] for call in calls if call["id"] in answered}
    content: Any = message.content
    if isinstance(content, list):
        content = [_block(block, named) if isinstance(block, dict) else block for block in content]
    return message.model_copy(update={"tool_calls": calls, "content": content})


def _replaced(value: Any, cut: Callable[[str], str]) -> Any:
    """Return a value with each text in it cut, but for the keys of objects."""
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, Mapping):
        return {key: _replaced(item, cut) for key, item in value.items()}
    return [_replaced(item, cut) for item in value] if isinstance(value, list) else value


def _block(block: dict[str, Any], named: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a content block; one that is a call, as Anthropic, LangChain and OpenAI write it, with its arguments as they are now."""
    args = named.get(block.get("call_id") or block.get("id"))
    if args is None:
        return block
    written = {"input": args, "args": args, "arguments": json.dumps(args, default=str)}
    return {key: written.get(key, item) for key, item in block.items()}

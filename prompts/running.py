"""Shorten the running turn where the window has no room for all of it: tool results, and what tools were called with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

from discreet.prompts.fitting import Count, about, cut_middle, fair_shares, fixed_tokens, message_tokens
from discreet.state.message_text import text_of

LEAST_RESULT: Final = 24
"""What is left of a result at least, its message included: a beginning and an end of some words."""

FAR: Final = 1.1
"""Times the limit: of what is estimated to be longer, the tokens are not counted."""

MARK: Final = " … (shortened: the middle is left out) … "

LEFT: Final = "..."
"""What is left of a long argument at least."""

ATTEMPTS: Final = 3

Args = dict[str, Any]

Place = tuple[int, int]
"""Of a call: its message, and which of that message's calls it is. Some servers give calls of several rounds the same id."""


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


def fit_calls(running: Sequence[BaseMessage], limit: int, count: Count) -> tuple[list[BaseMessage], int]:
    """Return the turn with messages of the model that take at most `limit` tokens, and how many calls were shortened for that.

    Only texts among the arguments are, of calls that have their results; those of the newest round only if the others are not
    enough. Where even that is not, the messages take more. The messages that are given stay as they are.
    """
    over = sum(message_tokens(message, count) for message in running if isinstance(message, AIMessage)) - limit
    if over <= 0:
        return list(running), 0
    answered = {message.tool_call_id for message in running if isinstance(message, ToolMessage)}
    calls = {
        (at, number): call["args"]
        for at, message in enumerate(running)
        if isinstance(message, AIMessage)
        for number, call in enumerate(message.tool_calls)
        if call["id"] in answered
    }
    newest = max((at for at, _ in calls), default=0)
    short: dict[Place, Args] = {}
    for group in ([place for place in calls if place[0] < newest], [place for place in calls if place[0] == newest]):
        over -= _shorten({place: calls[place] for place in group}, over, short, count)
    fitted = list(running)
    for at in {at for at, _ in short}:
        fitted[at] = _with_args(running[at], {number: args for (where, number), args in short.items() if where == at})
    return fitted, len(short)


def _shorten(calls: Mapping[Place, Args], over: int, short: dict[Place, Args], count: Count) -> int:
    """Put into `short` arguments of `calls` that take `over` tokens less together, or as few as can be; return how many less."""
    if over <= 0:
        return 0
    sizes = [_tokens(args, count) for args in calls.values()]
    spare = [
        max(0, size - _tokens(_least(args, count), count)) for size, args in zip(sizes, calls.values(), strict=True)
    ]
    saved = 0
    for place, size, most, share in zip(calls, sizes, spare, fair_shares(spare, sum(spare) - over), strict=True):
        if share < most:
            short[place] = _fitted(calls[place], size - most + share, count)
            saved += size - _tokens(short[place], count)
    return saved


def _fitted(args: Args, limit: int, count: Count) -> Args:
    """Return `args` in at most `limit` tokens, if `_least` takes so many."""
    least = _least(args, count)
    texts = list(_texts(args))
    sizes = [_tokens(text, count) for text in texts]
    room = limit - _tokens(least, count) + sum(_tokens(text, count) for text in _texts(least))
    for _ in range(ATTEMPTS):
        cut = [_cut(*each, count) for each in zip(texts, sizes, fair_shares(sizes, room), strict=True)]
        fitted: Args = _replaced(args, iter(cut))
        over = _tokens(fitted, count) - limit
        if over <= 0:
            return fitted
        room -= over
    return least


def _least(args: Args, count: Count) -> Args:
    least: Args = _replaced(args, (_cut(text, _tokens(text, count), 0, count) for text in _texts(args)))
    return least


def _cut(text: str, size: int, limit: int, count: Count) -> str:
    if size <= max(limit, _tokens(LEFT, count)):
        return text

    def counted(part: str) -> int:
        return _tokens(part, count)

    return cut_middle(text, limit, counted, mark=MARK, tokens=size) or cut_middle(text, limit, counted) or LEFT


def _tokens(value: object, count: Count) -> int:
    """Return what a value takes in a call, as `message_tokens` counts it."""
    return count(json.dumps(value, default=str))


def _texts(value: object) -> Iterator[str]:
    """Yield the texts of a value, but for the keys of objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)


def _replaced(value: Any, texts: Iterator[str]) -> Any:
    """Return a copy of `value` with the next of `texts` in the place of each."""
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, Mapping):
        return {key: _replaced(item, texts) for key, item in value.items()}
    return [_replaced(item, texts) for item in value] if isinstance(value, list) else value


def _with_args(message: BaseMessage, short: Mapping[int, Args]) -> BaseMessage:
    """Return `message` with the arguments in `short`, by the number of the call, in its content blocks too."""
    given = message.tool_calls if isinstance(message, AIMessage) else []
    calls = [ToolCall({**call, "args": short.get(number, call["args"])}) for number, call in enumerate(given)]
    named = {call["id"]: call["args"] for call in calls}
    content: Any = message.content
    if isinstance(content, list):
        content = [_block(block, named) if isinstance(block, dict) else block for block in content]
    return message.model_copy(update={"tool_calls": calls, "content": content})


def _block(block: dict[str, Any], named: Mapping[Any, Args]) -> dict[str, Any]:
    """Return a content block; one that is a call, as Anthropic, LangChain and OpenAI write it, with its arguments as they are now."""
    args = named.get(block.get("call_id") or block.get("id"))
    if args is None:
        return block
    written = {"input": args, "args": args, "arguments": json.dumps(args, default=str)}
    return {key: written.get(key, item) for key, item in block.items()}

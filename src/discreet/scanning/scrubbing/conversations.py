"""Choose what stays of a stored list of messages: what users said and were answered, by the rules of the checkpointer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from discreet.checkpoint.answers import is_answer, turn_answers
from discreet.scanning.messages import MODEL, SYSTEM, TOOL, USER, Message, as_message
from discreet.scanning.values import Foreign
from discreet.state.message_text import joined, spoken_blocks, text_blocks

_CLASSES: Final[dict[str, tuple[str, str]]] = {USER: ("human", "HumanMessage"), MODEL: ("ai", "AIMessage")}
_STRUCTURED: Final = "Returning structured response"
"""What `langchain.agents.create_agent` writes before one."""
TextOf = Callable[[Sequence[str]], str]
"""Makes one text of a message's blocks, without what must not stay."""

_SPOKEN: Final = frozenset({USER, MODEL, TOOL, SYSTEM})


def is_conversation(value: Any) -> bool:
    """Return whether a value is a list of messages, or of messages and their removals."""
    if not isinstance(value, list) or not value:
        return False
    found = [as_message(item) for item in value]
    return any(found) and all(
        (message is not None and message.kind in _SPOKEN) or _is_removal(item)
        for item, message in zip(value, found, strict=True)
    )


def what_stays(
    items: Sequence[Any], *, is_open: bool, is_over: bool, told_tools: Collection[str] = (), text_of: TextOf = joined
) -> list[Any]:
    """Return which of a list's messages stay, in the form that the list has; `text_of` makes one text of their blocks.

    With `is_open` the last turn stays as it is, with its calls and results: something is going to go on with it. Else it is
    over, or was given up (`is_over` is false): what a model said before its next call is no answer then.
    """
    messages = [_message(item) for item in items]
    kept: list[Any] = []
    for begin, end in _turns(messages):
        last = end == len(messages)
        turn = messages[begin:end]
        if last and is_open:
            kept += items[begin:end]
            continue
        asked = turn[0] if isinstance(turn[0], HumanMessage) else None
        if asked is not None:
            kept.append(_bare(items[begin], USER, text_of(spoken_blocks(asked)), asked.id))
        since = [message for message in turn if message is not None and message is not asked]
        over = not last or is_over or bool(since and is_answer(since[-1]))
        told = {*told_tools, *(str(each.name) for each in since if _is_structured(each))}
        answers = turn_answers(since, told_tools=told) if over else [m for m in since if is_answer(m)]
        model = next((items[n] for n in range(begin, end) if isinstance(messages[n], AIMessage)), None)
        shape = model if model is not None else items[begin]
        kept += [_bare(shape, MODEL, text_of(spoken_blocks(answer)), answer.id) for answer in answers]
        kept += [items[n] for n in range(begin, end) if messages[n] is None]
    return kept


def without_content(item: Any, *, text_of: TextOf = joined) -> Any:
    """Return a message that stands alone, such as a tool's result in a channel of its own, with nothing of what it says."""
    message = as_message(item)
    assert message is not None, "asked of messages alone"
    if message.kind in (USER, MODEL):
        made = _message(item)
        return _bare(
            item, message.kind, text_of(spoken_blocks(made)) if made is not None else "", message.fields.get("id")
        )
    fields: dict[str, Any] = {
        name: message.fields[name]
        for name in ("type", "role", "id", "tool_call_id", "name", "status")
        if name in message.fields
    }
    return _with_fields(item, message, {**fields, "content": "[redacted]"})


def _is_structured(message: BaseMessage) -> bool:
    """Return whether a tool's result is the structured response of an agent, which is the answer of its turn."""
    return isinstance(message, ToolMessage) and joined(text_blocks(message.content)).startswith(_STRUCTURED)


def _turns(messages: Sequence[BaseMessage | None]) -> Iterator[tuple[int, int]]:
    """Yield where turns begin and end. Each but perhaps the first begins with a user's message."""
    begin = 0
    for at in range(1, len(messages)):
        if isinstance(messages[at], HumanMessage):
            yield begin, at
            begin = at
    yield begin, len(messages)


def _message(item: Any) -> BaseMessage | None:
    """Return a stored message as one of LangChain's, with what decides about it; None for a removal."""
    found = as_message(item)
    if found is None:
        return None
    fields = found.fields
    content = fields.get("content")
    content = content if isinstance(content, (str, list)) else ""
    if isinstance(content, list):
        content = [block for block in content if isinstance(block, (str, dict))]
    message_id = fields.get("id") if isinstance(fields.get("id"), str) else None
    match found.kind:
        case "user messages":
            return HumanMessage(content=content, id=message_id)
        case "model messages":
            return AIMessage(content=content, id=message_id, additional_kwargs=_calls(fields))
        case "tool results":
            name = fields.get("name")
            return ToolMessage(
                content=content,
                id=message_id,
                tool_call_id=str(fields.get("tool_call_id") or ""),
                name=name if isinstance(name, str) else None,
            )
        case _:
            return SystemMessage(content=content, id=message_id)


def _calls(fields: dict[str, Any]) -> dict[str, Any]:
    """Return a mark that a model's message calls tools, if it does: what it calls them with doesn't matter here."""
    more = fields.get("additional_kwargs")
    calls = fields.get("tool_calls") or fields.get("invalid_tool_calls")
    calls = calls or (isinstance(more, dict) and (more.get("tool_calls") or more.get("function_call")))
    return {"tool_calls": [{}]} if calls else {}


def _bare(shape: Any, kind: str, text: str, message_id: Any) -> Any:
    """Return a message of an id and a text, stored in the form that `shape` has."""
    type_, name = _CLASSES[kind]
    found = as_message(shape)
    assert found is not None, "made of a message"
    fields: dict[str, Any] = {"content": text}
    if message_id is not None or "id" in found.fields:
        fields["id"] = message_id
    if isinstance(shape, dict) and "role" in found.fields and "type" not in found.fields:
        return _with_fields(shape, found, {"role": "user" if kind == USER else "assistant", **fields})
    if isinstance(shape, Foreign) or "type" in found.fields:
        fields["type"] = type_
    return _with_fields(shape, found, fields, class_name=name, type_=type_)


def _with_fields(
    shape: Any, found: Message, fields: dict[str, Any], *, class_name: str | None = None, type_: str | None = None
) -> Any:
    """Return `fields` as a message in the form that `shape` has: an object, a constructor in JSON, or a dict."""
    if isinstance(shape, Foreign):
        module = shape.name.rpartition(".")[0]
        if class_name is not None and class_name != shape.kind:
            module = {"HumanMessage": "langchain_core.messages.human", "AIMessage": "langchain_core.messages.ai"}[
                class_name
            ]
        return Foreign(f"{module}.{class_name or shape.kind}", fields, shape.code, shape.rest)
    if shape.get("type") == "constructor" and isinstance(shape.get("id"), list):
        id_ = [*shape["id"][:-1], class_name or shape["id"][-1]]
        if class_name is not None and class_name != shape["id"][-1]:
            id_ = ["langchain", "schema", "messages", class_name]
        return {**shape, "id": id_, "kwargs": fields}
    if shape is not found.fields:  # {"type": …, "data": {…}}
        return {**shape, "type": type_ or shape.get("type"), "data": fields}
    return fields


def _is_removal(item: Any) -> bool:
    if isinstance(item, Foreign):
        return item.kind == "RemoveMessage"
    return isinstance(item, dict) and item.get("type") == "remove"

"""Messages of LangChain's class for any role, as the user's or the model's that they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, convert_to_messages

Item = TypeVar("Item")

ROLES: Final[Mapping[str, type[HumanMessage | AIMessage]]] = {
    "user": HumanMessage,
    "human": HumanMessage,
    "assistant": AIMessage,
    "ai": AIMessage,
}
_PAIR: Final = 2


def as_spoken(message: Item) -> Item | HumanMessage | AIMessage:
    """Return a `ChatMessage` of the user's or the model's role as the message that it is, under its id; anything else itself.

    Example:
        >>> as_spoken(ChatMessage(role="user", content="Hello")).type
        'human'
    """
    if not isinstance(message, ChatMessage) or (made := ROLES.get(message.role.lower())) is None:
        return message
    return made(
        message.content,
        id=message.id,
        name=message.name,
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
    )


def all_spoken(items: Sequence[Any]) -> Sequence[Any]:
    """Return what a channel holds with its messages as those that they are; dicts and pairs of role and text, too.

    A reducer of one's own, such as `operator.add`, leaves them as they came. Beside what can't be a message they are data, and stay.
    """
    if not {*map(type, items)} & {ChatMessage, dict, tuple, list}:
        return items
    spoken = [*map(_spoken, items)]
    return spoken if all(isinstance(each, BaseMessage | str) for each in spoken) else [*map(as_spoken, items)]


def _spoken(item: Any) -> Any:
    is_pair = isinstance(item, tuple | list) and len(item) == _PAIR and all(isinstance(each, str) for each in item)
    if not is_pair and not (isinstance(item, dict) and "content" in item):
        return as_spoken(item)
    try:
        (message,) = convert_to_messages([tuple(item) if is_pair else item])
    except (
        ValueError,
        TypeError,
        KeyError,
        NotImplementedError,
    ):  # what it raises for a role or a shape that it doesn't know
        return item
    return as_spoken(message)

"""Which messages of a conversation outlive their turn, told anew and as plainly as can be."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, ToolMessage, convert_to_messages

from discreet.checkpoint.message_ids import safe_id

SECRET = "hunter2"
PLACEHOLDER = "[password]"

TOLD_TOOL = "tell"
"""The tool whose text may be stored as the answer of a turn that it ends."""

TOOL_ANSWERED = "(Answered by the tool "
"""How the line begins that stands for another tool's."""

Turn = Literal["open", "left", "paused", "over"]
"""How far the last turn is: running, given up for a new message, waiting for the user, or at its end."""


@dataclass(frozen=True)
class Projection:
    """What is stored of a conversation."""

    kept: tuple[str, ...]
    """Ids of what is there, in its order."""
    made: Mapping[str | None, BaseMessage]
    """Those of them that are there with something else in their place."""
    whole: bool
    """Whether the last turn lost nothing."""


@dataclass
class Known:
    """What is known of a thread's messages while a turn is open."""

    came: dict[str | None, str] | None = None
    """Texts of the messages that came in, by id; None if no run was seen to begin, so that all human messages count as the user's."""
    texts: set[str] = field(default_factory=set)
    """Texts that came in."""
    said: set[str | None] = field(default_factory=set)
    """Ids of what the model said in turns that are open, or were given up."""
    front: Sequence[BaseMessage] = ()
    """The stored messages that the turn began with, if it recognises them."""
    stored: set[str | None] = field(default_factory=set)
    """Their ids."""
    told: set[str | None] = field(default_factory=set)
    """Ids of what the model said before it waited for the user, who has read it."""
    read: set[str | None] = field(default_factory=set)
    """Ids of what the run began with."""
    unfinished: bool = False
    """Whether the run began in the middle of a turn, where nothing was asked."""
    input_version: Any = None
    """Of the channel of inputs as it began."""

    def note(self, messages: Sequence[BaseMessage]) -> None:
        """Note messages that came in."""
        if self.came is not None:
            self.came |= {message.id: message.text for message in messages}
            self.texts |= {message.text for message in messages if isinstance(message, HumanMessage)}

    def read_by_user(self, messages: Sequence[BaseMessage]) -> None:
        """Note that the user has read what the model said last."""
        self.told |= {message.id for message in said_last(messages)}

    def is_users(self, message: BaseMessage) -> bool:
        """Return whether a message is the user's, and not one that the graph wrote in the user's place."""
        if not isinstance(message, HumanMessage):
            return False
        return self.came is None or message.id in self.came.keys() | self.stored or message.text in self.texts


class WordRedactor:
    """Redacts one word, at no cost."""

    def redact(self, text: str) -> str:
        return text.replace(SECRET, PLACEHOLDER)


class LendingRedactor(WordRedactor):
    """Hands out the word that it redacts, so that later turns have it again."""

    TAGGED = "<PASSWORD:AAAAAAAA>"

    def mask(self, text: str, _known: Any = None, *, trusted: bool = False) -> tuple[str, dict[str, str]]:
        return text.replace(SECRET, self.TAGGED), {self.TAGGED: SECRET} if SECRET in text else {}


@cache
def stored_id(message_id: str | None) -> str | None:
    """Return the id under which a message is stored."""
    return safe_id(message_id, WordRedactor().redact)


def with_stored_ids(messages: Iterable[Any]) -> list[BaseMessage]:
    """Return messages of any form as those that they are, of one text, under the ids that they have once they are stored."""
    found = map(_plain, messages)
    return [m if stored_id(m.id) == m.id else m.model_copy(update={"id": stored_id(m.id)}) for m in found]


def _plain(given: Any) -> BaseMessage:
    (message,) = convert_to_messages([given])
    if isinstance(message, ChatMessage):
        message = HumanMessage(message.content, id=message.id)
    return message if isinstance(message.content, str) else message.model_copy(update={"content": message.text})


def is_answer(message: BaseMessage) -> bool:
    """Return whether a message is said to the user."""
    return isinstance(message, AIMessage) and not message.tool_calls and bool(message.text.strip())


def project(messages: Sequence[BaseMessage], turn: Turn, known: Known) -> Projection:
    """Return what is stored of `messages`."""
    same = zip(messages, known.front, strict=False)
    front = sum(1 for _ in takewhile(lambda pair: (pair[0].id, pair[0].text) == (pair[1].id, pair[1].text), same))
    asked = max((place for place, message in enumerate(messages) if known.is_users(message)), default=-1)
    since = messages[max(asked + 1, front) :]
    unended = known.said - known.told - ({m.id for m in said_last(messages)} if turn in {"paused", "over"} else set())
    before = messages[front : asked + 1]
    ended = [
        m for m in before if known.is_users(m) or (is_answer(m) and m.id not in unended) or was_read(m, known, messages)
    ]
    texts = {m.id: (known.came or {}).get(m.id, m.text) for m in ended if isinstance(m, HumanMessage)}
    made: dict[str | None, BaseMessage] = {
        m.id: HumanMessage(texts[m.id], id=m.id) for m in ended if texts.get(m.id, m.text) != m.text
    }  # as they came, whatever a node has put under their ids
    made |= {m.id: spoken(m) for m in (*before, *(since if turn == "left" else ())) if was_read(m, known, messages)}
    answered = False
    if turn == "open":
        shown = [m for m in since if is_answer(m) and m.id in known.stored | (known.came or {}).keys()]
    elif turn == "left":
        shown = [m for m in since if (is_answer(m) and m.id not in unended) or was_read(m, known, messages)]
    else:
        shown = [m for m in since if is_answer(m)]
        if (extra := _made(since, shown, over=turn == "over")) is not None:
            stands_for = str(extra.id).removesuffix("-answer")
            answered, made[stands_for] = True, extra
            shown.append(extra.model_copy(update={"id": stands_for}))
    kept = tuple(message.id or "" for message in (*messages[:front], *ended, *shown))
    return Projection(kept, made, whole=len(shown) == len(since) and not answered)


def project_input(given: Sequence[BaseMessage]) -> Projection:
    """Return what is stored of an input's messages: those that a conversation can hold."""
    kept = [message for message in given if isinstance(message, HumanMessage) or is_answer(message)]
    return Projection(tuple(message.id or "" for message in kept), {}, whole=len(kept) == len(given))


def _made(since: Sequence[BaseMessage], said: Sequence[BaseMessage], *, over: bool) -> BaseMessage | None:
    """Return what answers beside what the model said. A tool's answer has an id of its own."""
    results = list(takewhile(lambda message: isinstance(message, ToolMessage), reversed(since)))[::-1]
    called = since[: -len(results)][-1:] if results else []
    if over and results and all(isinstance(m, AIMessage) and not is_answer(m) for m in called):
        told = any(result.name == TOLD_TOOL for result in results)
        beside = [message.text for message in called if message.text.strip()]
        lines = [m.text if m.name == TOLD_TOOL else f"{TOOL_ANSWERED}{m.name or 'called last'}.)" for m in results]
        answer = AIMessage("\n".join([*beside, *lines]), id=f"{results[-1].id}-answer")
        return answer if told or not said else None
    if over and said:
        return None
    spoken = [message for message in since if isinstance(message, AIMessage) and message.text.strip()]
    if spoken and not is_answer(spoken[-1]):
        return AIMessage(spoken[-1].text, id=spoken[-1].id)
    return None


def said_last(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return what the model said since the last human message."""
    turn = takewhile(lambda message: not isinstance(message, HumanMessage), reversed(messages))
    return [message for message in turn if isinstance(message, AIMessage)]


def came_first(messages: Sequence[BaseMessage], known: Known) -> list[BaseMessage]:
    """Return what counts as the input of a run that saves at its end only.

    In an empty thread these are questions and answers in turn, elsewhere one human message: what follows one at once may be
    a node's.
    """
    there = known.read | known.stored | (known.came or {}).keys()
    last = max((place for place, message in enumerate(messages) if message.id in there), default=-1)
    new = messages[last + 1 :]
    came: list[BaseMessage] = []
    for place, message in enumerate(new):
        if isinstance(message, HumanMessage):
            again = came and (there or place + 1 == len(new))
            if again or (came and isinstance(new[place - 1], HumanMessage)):
                break
            came.append(message)
        elif came and (not isinstance(message, AIMessage) or message.tool_calls):
            break
    return came


def was_read(message: BaseMessage, known: Known, messages: Sequence[BaseMessage]) -> bool:
    """Return whether a message has a call without a result among `messages`, and text beside it that the user has read as the turn waited."""
    calls = {call["id"] for call in getattr(message, "tool_calls", ())}
    is_open = bool(calls - {getattr(each, "tool_call_id", "") for each in messages})
    return is_open and bool(message.text) and message.id in known.told


def spoken(message: BaseMessage) -> BaseMessage:
    """Return the text beside a call."""
    return AIMessage(message.text, id=message.id)


def open_round(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return the calls that were said last, and the results that they have, if one of them has none."""
    results = list(takewhile(lambda message: isinstance(message, ToolMessage), reversed(messages)))[::-1]
    calling = messages[: len(messages) - len(results)][-1:]
    calls = {call["id"] for message in calling for call in getattr(message, "tool_calls", ())}
    return [*calling, *results] if calls - {result.tool_call_id for result in results} else []


def dangles(messages: Sequence[BaseMessage]) -> bool:
    """Return whether a tool call that was said last has no result."""
    return bool(open_round(messages))


def lone_rounds(messages: Sequence[BaseMessage], given: Collection[str]) -> list[BaseMessage]:
    """Return all calls without a result, and the results that they have; not those of which results are `given`."""
    found: list[BaseMessage] = []
    for at, message in enumerate(messages):
        calls = {call["id"] for call in getattr(message, "tool_calls", ())}
        rest = takewhile(lambda each: not isinstance(each, HumanMessage), messages[at + 1 :])
        results = {each.tool_call_id: each for each in rest if isinstance(each, ToolMessage)}
        if calls - results.keys() and not calls & set(given):
            found += [message, *(results[call] for call in calls & results.keys())]
    return found


def dead_rounds(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the calls without a result after which the user went on to something else, and the results that they have."""
    users = [at for at, message in enumerate(messages) if isinstance(message, HumanMessage)]
    return [message for at in users for message in open_round(messages[:at])]

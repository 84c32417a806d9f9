"""Rebuild a conversation from what may be stored of it.

A turn begins with a user's message and ends before the next one. Stored are the user's messages and, of a turn that is
over, what the user saw as its answers. Everything between is the turn's own work: tool calls, tool results, summaries that a
middleware wrote. A tool call is dropped with the whole message that carries it, because providers refuse a call without its
result; where it ends the turn, the text beside it is the answer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum
from itertools import takewhile
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages

from discreet.checkpoint.answers import is_answer, turn_answers
from discreet.checkpoint.kept_tools import call_form, form_of_pair, kept_pairs, made_of_pair, result_form, result_text
from discreet.checkpoint.message_ids import ANSWER
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.user_input import Replaced, UserInput
from discreet.state.message_text import MADE_BY, SUMMARIZATION, is_summary, spoken_blocks, text_of

get_id = operator.attrgetter("id")
get_content = operator.attrgetter("content")
_get_type = operator.attrgetter("type")
_get_further = operator.attrgetter("additional_kwargs")

SUMMARY = "summary"
"""Form of a middleware's summary. That of another message is its type, and of a call or a result what else is kept of it."""


class Turn(Enum):
    """How far the last turn of some messages is."""

    OPEN = "open"
    """What the model says may not be its answer yet."""
    LEFT = "left"
    """The user is about to go on: it is over, or was given up."""
    PAUSED = "paused"
    """It waits for the user, who has read what the model said."""
    OVER = "over"


@dataclass(frozen=True)
class Selection:
    """Which messages of a channel are stored."""

    messages: list[BaseMessage]
    """As they came, or made of them: `rebuild` them."""
    complete: bool
    """Whether the running turn, from its user's message on, could go on from these alone."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """What is known of a thread's messages, beside them."""

    came_in: UserInput | None = None
    """What callers handed over. None: nobody knows, so human messages count as the user's."""
    is_input: bool = False
    """Whether all messages are what a caller hands over now."""
    stored: Collection[str | None] = frozenset()
    """Ids of messages that the durable tier has."""
    answers: Callable[[str | None], BaseMessage | None] = lambda _: None
    """Returns the answer that the durable tier has under an id."""
    unended: AbstractSet[str] = frozenset()
    """Texts of the model in turns that failed or were given up: no answers, though another message of the user follows."""
    read: AbstractSet[str] = frozenset()
    """Texts of the model at which a turn has waited for the user, beside a call too."""
    structured: Any = None
    """The structured response of an agent, which is the answer of its turn."""
    told_tools: Collection[str] = field(default_factory=frozenset)
    """Tools with `return_direct` whose text may be stored as the answer."""
    tools: Collection[str] = field(default_factory=frozenset)
    """Tools whose calls and results are stored."""
    summaries: bool = False
    """Whether what a middleware has marked as a summary is stored."""

    def keeps(self, message: Any) -> bool:
        """Return whether `message` is stored though it is neither the user's nor an answer."""
        return self.summaries and is_summary(message)

    def came(self, message: BaseMessage) -> bool:
        """Return whether `message` is known to have come in from outside, or to be stored."""
        stored = message.id is not None and message.id in self.stored
        return self.is_input or stored or (self.came_in is not None and self.came_in.has(message))

    def is_users(self, message: Any) -> bool:
        """Return whether `message` is the user's, and not one that a graph wrote in the user's place."""
        if not isinstance(message, HumanMessage) or MADE_BY in message.additional_kwargs:
            return False
        return self.came_in is None or self.came(message)


NOTHING_KNOWN = Said()


def select(messages: Sequence[Any], *, turn: Turn, start: int = 0, said: Said = NOTHING_KNOWN) -> Selection:
    """Choose what is stored of `messages` from `start` on; `turn` says how far the last turn is."""
    asked = last_users(messages, said)
    kept: list[BaseMessage] = []
    complete = True
    pairs, answered = kept_pairs(messages, said.tools), _answered(messages)
    for position in range(start, asked + 1):
        message = messages[position]
        if said.is_users(message):
            complete = turn is Turn.PAUSED or _is_text(message)  # what an earlier turn lost doesn't matter to this one
            kept.append(said.came_in.as_came(message) if said.came_in else message)
        elif isinstance(message, RemoveMessage):
            kept.append(message)
        elif position in pairs:
            kept.append(pairs[position])
        elif answer := _answer(message, said, answered):
            kept.append(answer)
    begin = max(asked + 1, start)
    shown, whole = _running(messages[begin:], turn, said)
    if turn in {Turn.OVER, Turn.LEFT}:
        shown = _with_pairs(shown, messages, {at: pair for at, pair in pairs.items() if at >= begin})
    return Selection(kept + shown, complete and whole)


def _with_pairs(
    shown: list[BaseMessage], messages: Sequence[Any], pairs: Mapping[int, BaseMessage]
) -> list[BaseMessage]:
    """Return `shown` of a turn with calls and results in their places."""
    if not pairs:
        return shown
    ids = {pair.id for pair in pairs.values()}
    # Text beside a call may be the answer, under the id of the call.
    answers = [m.model_copy(update={"id": f"{m.id}{ANSWER}"}) if m.id in ids else m for m in shown]
    places = {id(message): at for at, message in enumerate(messages)}
    placed = sorted(
        [*pairs.items(), *((places[id(m)], m) for m in answers if id(m) in places)], key=lambda item: item[0]
    )
    return [*(message for _, message in placed), *(m for m in answers if id(m) not in places)]


def last_users(messages: Sequence[Any], said: Said) -> int:
    """Return the index of the user's last message, -1 if there is none."""
    return next((at for at in range(len(messages) - 1, -1, -1) if said.is_users(messages[at])), -1)


def _running(since: Sequence[Any], turn: Turn, said: Said) -> tuple[list[BaseMessage], bool]:
    """Return what is stored of the last turn after its user's message, and whether nothing had to be dropped."""
    messages = [message for message in since if isinstance(message, BaseMessage)]
    if turn is Turn.OPEN:
        shown = [m for m in messages if said.keeps(m) or (is_answer(m) and said.came(m))]
    elif turn is Turn.LEFT:
        answered = _answered(messages)
        shown = [answer for message in messages if (answer := _answer(message, said, answered))]
    else:
        over = turn is Turn.OVER
        answers = turn_answers(messages, structured=said.structured, told_tools=said.told_tools, over=over)
        shown = [*filter(said.keeps, messages), *answers]
    removals = [message for message in messages if isinstance(message, RemoveMessage)]
    # What the user has read is done with: images and reasoning are lost as at the end of a turn.
    whole = len(shown) + len(removals) == len(since) and (turn is Turn.PAUSED or all(map(_is_text, messages)))
    return [*removals, *shown], whole and not any(isinstance(m, ToolMessage) or _calls(m) for m in messages)


def _calls(message: BaseMessage) -> bool:
    return isinstance(message, AIMessage) and not is_answer(message)


def _answered(messages: Sequence[Any]) -> frozenset[str]:
    """Return the ids of the calls that have a result among `messages`."""
    return frozenset(message.tool_call_id for message in messages if isinstance(message, ToolMessage))


def _answer(message: Any, said: Said, answered: Collection[str]) -> BaseMessage | None:
    """Return what `message` answered in a turn that is over; of a call or a result that a client sends again, what is stored."""
    if said.keeps(message):
        return cast("BaseMessage", message)
    if not isinstance(message, BaseMessage) or isinstance(message, HumanMessage):
        return None
    if is_answer(message) and text_of(message) not in said.unended:
        return message
    # Beside calls that were answered stands what the model did meanwhile: it is no answer, though the user has seen it.
    is_open = not {call["id"] for call in getattr(message, "tool_calls", ())} <= set(answered)
    if _calls(message) and is_open and (told := _read_of(message, said.read)):
        return told[0]
    return said.answers(message.id) if message.id in said.stored else None


def said_last(messages: Sequence[BaseMessage]) -> set[str]:
    """Return what the model has said since the user's last message."""
    turn = takewhile(lambda message: not isinstance(message, HumanMessage), reversed(messages))
    return {text_of(message) for message in turn if isinstance(message, AIMessage)}


def rebuild(message: BaseMessage, policy: CheckpointPolicy) -> BaseMessage:
    """Return a new message with the form, the id and the redacted text of `message`, without reasoning, and nothing else."""
    if isinstance(message, RemoveMessage):
        return RemoveMessage(id=policy.safe_id(message.id) or "")
    if isinstance(message, ToolMessage):
        return made(result_form(message, policy), policy.safe_id(message.id), result_text(message, policy))
    if isinstance(message, AIMessage) and message.tool_calls:
        return made(call_form(message, policy), policy.safe_id(message.id), "")
    text = policy.redact_blocks(spoken_blocks(message), trusted=isinstance(message, AIMessage))
    if isinstance(message, Replaced):
        text = policy.without_values(text, but_those_in=message.now)
    return made(form_of(message), policy.safe_id(message.id), text)


def form_of(message: BaseMessage) -> str:
    """Return what is stored of a message beside its id and text: whose it is."""
    return form_of_pair(message) or (SUMMARY if is_summary(message) else str(message.type))


def made(form: str, message_id: str | None, text: str) -> BaseMessage:
    """Return a message of a form, an id and a text."""
    if form == SUMMARY:
        return HumanMessage(content=text, id=message_id, additional_kwargs={MADE_BY: SUMMARIZATION})
    if ":" in form:
        return made_of_pair(form, message_id, text)
    kind = HumanMessage if form == "human" else AIMessage
    return kind(content=text, id=message_id)


def forms_of(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the form of each."""
    types = list(map(_get_type, messages))
    if "tool" not in types and not any(map(_get_further, messages)):  # the usual case, without a call each
        return types
    return list(map(form_of, messages))


class Chosen(list[BaseMessage]):
    """Messages to store, with their ids, texts and forms as they were when they were read or redacted: these are stored.

    Stored messages of a thread are the very objects that its graph works on, and a node may change one at any moment.
    """

    def __init__(
        self, messages: Iterable[BaseMessage], ids: list[str | None], texts: list[Any], forms: list[str]
    ) -> None:
        super().__init__(messages)
        self.ids = ids
        self.texts = texts
        self.forms = forms

    @classmethod
    def of(cls, messages: Sequence[BaseMessage]) -> Chosen:
        """Return `messages` with what they hold now."""
        return cls(messages, list(map(get_id, messages)), list(map(get_content, messages)), forms_of(messages))

    def with_more(self, messages: Sequence[BaseMessage]) -> Chosen:
        """Return these and after them `messages`, with what the latter hold now."""
        more = Chosen.of(messages)
        return Chosen(self + more, self.ids + more.ids, self.texts + more.texts, self.forms + more.forms)

    def before(self, ids: AbstractSet[str | None]) -> Chosen:
        """Return those before the first whose id is among `ids`."""
        count = next((at for at, message_id in enumerate(self.ids) if message_id in ids), len(self))
        return self.first(count)

    def first(self, count: int) -> Chosen:
        """Return the first `count`."""
        return Chosen(self[:count], self.ids[:count], self.texts[:count], self.forms[:count])

    def distinct(self) -> Chosen:
        """Return these with one message an id: the last, in the place of the first."""
        if len(set(self.ids)) == len(self.ids):
            return self
        places: dict[Any, int] = {}
        kept: list[int] = []
        for at, message_id in enumerate(self.ids):
            place = places.setdefault(message_id, len(kept)) if message_id else len(kept)
            kept[place : place + 1] = [at]
        ids, texts = ([each[at] for at in kept] for each in (self.ids, self.texts))
        return Chosen([self[at] for at in kept], ids, texts, [self.forms[at] for at in kept])

    def copied(self) -> list[BaseMessage]:
        """Return new messages of the same ids, texts and forms."""
        return [
            message if isinstance(message, RemoveMessage) else made(form, message_id, text)
            for message, message_id, text, form in zip(self, self.ids, self.texts, self.forms, strict=True)
        ]


def fold(before: Chosen, given: Sequence[BaseMessage]) -> Chosen:
    """Return the messages of a channel once `given` have been written to it, as LangGraph's `add_messages` does."""
    removes = any(isinstance(message, RemoveMessage) for message in given)
    if not removes and {message.id for message in given}.isdisjoint(before.ids):
        return before.with_more(given)
    there = {*before.ids, *(message.id for message in given if not isinstance(message, RemoveMessage))}
    # A removal of what isn't stored removes nothing here; `add_messages` would raise.
    known = [m for m in given if not isinstance(m, RemoveMessage) or m.id in {*there, REMOVE_ALL_MESSAGES}]
    folded = cast("list[BaseMessage]", add_messages(before.copied(), known))  # type: ignore[arg-type]  # its types are narrower than what it takes
    return Chosen.of(folded)


def open_calls(messages: Sequence[BaseMessage]) -> frozenset[str]:
    """Return the ids of the tool calls that were said last, if one of them has no result."""
    results: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            results.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            calls = frozenset(str(call["id"]) for call in message.tool_calls)
            return frozenset() if calls <= results else calls
        else:
            break
    return frozenset()


def dangling(messages: Sequence[BaseMessage]) -> bool:
    """Return whether the last thing said is a tool call without all of its results: providers refuse what follows."""
    return bool(open_calls(messages))


def answerable_calls(messages: Sequence[BaseMessage]) -> frozenset[str]:
    """Return the ids of the calls whose results a run may bring: those that were said last, and those that lack one."""
    found: set[str] = set()
    results: set[str] = set()
    is_last = True
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            results, is_last = set(), False
        elif isinstance(message, ToolMessage):
            results.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            calls = {str(call["id"]) for call in message.tool_calls}
            found |= calls if is_last or not calls <= results else set()
            results, is_last = results - calls, False
    return frozenset(found)


def without_open_calls(
    messages: Sequence[BaseMessage],
    read: Collection[str] | None = None,
    *,
    given: AbstractSet[str] = frozenset(),
    anew: AbstractSet[str] = frozenset(),
) -> list[BaseMessage]:
    """Return `messages` without tool calls that lack a result, wherever they stand; those that are `given` stay.

    Nor have they results that belong to no call, that came before, or that are given `anew`. The calls' text stays if it is among
    what the user has `read`; by default it was. Results count until the user's next message, and for the call before them alone: ids
    may come again.
    """
    messages = _without_lone_results(messages, anew)
    kept: list[BaseMessage] = list(messages)
    results: dict[str, BaseMessage] = {}
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            results.clear()
        elif isinstance(message, ToolMessage):
            results[message.tool_call_id] = message
        elif isinstance(message, AIMessage) and message.tool_calls:
            calls = {str(call["id"]) for call in message.tool_calls}
            done = [results.pop(call) for call in calls & results.keys()]
            if len(done) < len(calls) and not given & calls:
                at = next(at for at, each in enumerate(kept) if each is message)
                gone = set(map(id, done))
                kept[at:] = [*_read_of(message, read), *(each for each in kept[at + 1 :] if id(each) not in gone)]
    return kept


def _without_lone_results(messages: Sequence[BaseMessage], anew: AbstractSet[str]) -> list[BaseMessage]:
    """Return `messages` without results that have no call before them, that came twice, or that are given `anew`."""
    kept: list[BaseMessage] = []
    waiting: set[str] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                continue
            waiting.discard(message.tool_call_id)
        elif isinstance(message, AIMessage):
            waiting = {str(call["id"]) for call in message.tool_calls} - anew
        elif isinstance(message, HumanMessage):
            waiting = set()
        kept.append(message)
    return kept


def without_dead_calls(messages: Sequence[BaseMessage], read: Collection[str] | None = ()) -> list[BaseMessage]:
    """Return `messages` without tool calls that lack a result and can't get one: a user's message follows them.

    Their text stays if it is among what the user has `read`.
    """
    kept: list[BaseMessage] = []
    round_: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, HumanMessage) and round_ and dangling(round_):
            round_ = without_open_calls(round_, read)
        elif not isinstance(message, ToolMessage):
            kept += round_
            round_ = []
        round_.append(message)
    return [*kept, *round_]


def _read_of(called: BaseMessage, read: Collection[str] | None) -> list[AIMessage]:
    """Return the text beside a call, if there is any and the user has read it."""
    return turn_answers([called], over=False) if read is None or text_of(called) in read else []


def _is_text(message: BaseMessage) -> bool:
    return isinstance(message.content, str) or all(
        isinstance(block, str) or block.get("type") == "text" for block in message.content
    )

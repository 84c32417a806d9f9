"""Know a message that a thread has already by its id, and what became of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.types import StateSnapshot

from discreet.checkpoint.answers import is_answer
from discreet.checkpoint.message_ids import safe_id
from discreet.checkpoint.user_input import as_mapping
from discreet.errors import InputError, MessageIdReusedError
from discreet.graph.deliveries import DELIVERY
from discreet.graph.streams import Part, Shape, reply_parts
from discreet.nodes.input_check import messages_of
from discreet.nodes.media import MAX_MEDIA
from discreet.ports import TextRedactor
from discreet.redaction.same_text import is_same_text
from discreet.state.media import media_texts
from discreet.state.message_text import joined, text_of, words_of

MARK: Final = {DELIVERY: "repeated"}

SUMMARY: Final = re.compile(r"\n\[")
"""Begins what stands for a medium behind the words that came with it."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """A message that came in under the id of one that its thread has."""

    given: HumanMessage
    before: Sequence[BaseMessage]
    """What came in with it, before it."""
    messages: Sequence[BaseMessage]
    """All that the thread has."""
    place: int
    """Where it is among these."""
    state: StateSnapshot | None = None
    """Where the thread stands, for what is done about it."""

    @property
    def answer(self) -> int | None:
        """Where its answer is: the last one before the user speaks again. Who spoke twice before they were answered got one for both."""
        found = None
        for at, message in enumerate(self.messages[self.place + 1 :], self.place + 1):
            if is_answer(message):
                found = at
            elif found is not None and isinstance(message, HumanMessage):
                break
        return found

    @property
    def is_paused(self) -> bool:
        """Whether its turn waits for a person."""
        later = self.messages[self.place + 1 :]
        return (
            self.state is not None
            and bool(self.state.interrupts)
            and not any(isinstance(message, HumanMessage) for message in later)
        )

    @property
    def is_broken_off(self) -> bool:
        """Whether its turn was answered, and has more to do: nobody is asked, and nodes are left."""
        answer = self.answer
        later = () if answer is None else self.messages[answer + 1 :]
        is_newest = answer is not None and not any(isinstance(message, HumanMessage) for message in later)
        return is_newest and self.state is not None and bool(self.state.next) and not self.state.interrupts

    @property
    def is_over(self) -> bool:
        """Whether it was answered, or its turn waits for a person."""
        return self.is_paused or self.answer is not None

    def is_edited(self, redactor: TextRedactor) -> bool:
        """Return whether an earlier message of the user's came in with another text than the thread has."""
        there = {message.id: text_of(message) for message in self.messages}
        return any(
            isinstance(each, HumanMessage)
            and (stored := there.get(each.id, there.get(safe_id(each.id)))) is not None
            and not is_same_text(stored, text_of(each), redactor)
            for each in self.before
        )

    def is_same(self, redactor: TextRedactor) -> bool:
        """Return whether it says what the thread has; `redactor` is the thread's. Of media, which are not stored, the words beside them."""
        stored, texts = text_of(self.messages[self.place]), words_of(self.given.content)
        if is_same_text(stored, text_of(self.given), redactor):
            return True
        if not media_texts(self.given.content):
            return False
        ends = [match.start() for match in SUMMARY.finditer(stored)][-MAX_MEDIA:]
        return not texts or any(is_same_text(stored[:end], joined(texts), redactor) for end in ends)

    def parts(self, shape: Shape, key: str, outputs: str | Sequence[str]) -> list[Part]:
        """Return what a run gives that has answered it: the state up to its answer, or the question that its turn waits with."""
        assert self.state is not None  # nobody else repeats an answer
        names = [outputs] if isinstance(outputs, str) else outputs
        values = {name: item for name, item in self.state.values.items() if name in names}
        answer = None if self.is_paused else self.answer
        if answer is None:
            return paused_parts(values, self.state.interrupts, shape)
        return answered_parts(self.messages, answer, values, shape, key)


def begins_with(given: Any, key: str) -> list[BaseMessage]:
    """Return the messages of an input whose last one begins a turn, and has an id; none if it is another, or takes some away."""
    fields = as_mapping(given)
    try:
        said = messages_of(None if fields is None else fields.get(key))
    except InputError:
        return []  # the graph refuses it with the same error
    begins = bool(said) and isinstance(said[-1], HumanMessage) and bool(said[-1].id)
    return said if begins and not any(isinstance(message, RemoveMessage) for message in said) else []


def known_in(
    messages: Sequence[BaseMessage], said: Sequence[BaseMessage], state: StateSnapshot | None = None
) -> Known | None:
    """Return what the `messages` of a thread tell of the last one of an input; None if none has its id.

    Raises:
        MessageIdReusedError: It is the user's, and its id is that of an answer.
    """
    given = said[-1]
    ids = {given.id, safe_id(given.id)}
    place = next((at for at, message in enumerate(messages) if message.id in ids), None)
    if place is None or not isinstance(given, HumanMessage):
        return None
    if not isinstance(messages[place], HumanMessage):
        raise MessageIdReusedError
    return Known(given=given, before=said[:-1], messages=messages, place=place, state=state)


def answered_parts(
    messages: Sequence[BaseMessage], answer: int, values: Mapping[str, Any], shape: Shape, key: str
) -> list[Part]:
    """Return the parts of a run that gives the answer in that place again. Other turns may have come since: they are left out."""
    first = messages[answer]
    reply = first.model_copy(update={"response_metadata": {**first.response_metadata, **MARK}})
    upto = {**values, key: [*messages[:answer], reply]}
    return reply_parts(messages, reply, shape, node=DELIVERY, messages_key=key, values=upto)


def repeated_parts(
    said: Sequence[BaseMessage],
    answer: str,
    state: StateSnapshot | None,
    *,
    shape: Shape,
    key: str,
    redactor: TextRedactor,
) -> list[Part]:
    """Return the parts of a run that gives a redacted `answer` again: as the thread has it, else as it was kept."""
    known = [] if state is None else messages_in(state.values, key)
    places = [at for at, each in enumerate(known) if is_answer(each) and is_same_text(answer, text_of(each), redactor)]
    if state is None or not places:  # a run without a thread, a recording in another one
        reply: BaseMessage = AIMessage(answer, response_metadata=MARK)
        return reply_parts(said, reply, shape, node=DELIVERY, messages_key=key)
    return answered_parts(known, places[-1], state.values, shape, key)


def paused_parts(values: Mapping[str, Any], interrupts: Sequence[Any], shape: Shape) -> list[Part]:
    """Return the parts of a run that waits for a person, or had nothing to say."""
    told = {"__interrupt__": tuple(interrupts)} if interrupts and shape.version == "v1" else {}
    parts = [Part((), "values", {**values, **told}, tuple(interrupts))]
    if interrupts:
        parts.append(Part((), "updates", {"__interrupt__": tuple(interrupts)}))
    return [part for part in parts if part.mode in shape.modes]


def messages_in(values: Any, key: str) -> list[BaseMessage]:
    """Return the messages of a state."""
    found = values.get(key) if isinstance(values, Mapping) else getattr(values, key, None)
    return [each for each in found if isinstance(each, BaseMessage)] if isinstance(found, list) else []

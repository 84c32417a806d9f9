"""Leave out of prompts and summaries what the user had forgotten: the one reason for a round to be told nowhere."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from discreet.metrics import forgotten_unread
from discreet.nodes.requests import request_id_of
from discreet.nodes.rounds import ThreadRound
from discreet.nodes.run import Run
from discreet.nodes.turn import turn_start
from discreet.ports import Memories, TextRedactor, of_thread
from discreet.prompts.rounds import split_rounds
from discreet.redaction import untagged
from discreet.redaction.placeholders import TAGGED
from discreet.state.message_text import is_persons, text_of

logger = logging.getLogger(__name__)

READ_SECONDS = 1.0
"""How long a prompt waits for what was forgotten; it takes a millisecond."""
FRESH_SECONDS = 5.0
"""Within a turn; one that paused for a person reads them again."""
MAX_KNOWN = 10_000
"""Threads whose forgotten rounds are held for when the memories can't be asked."""


class _Read(NamedTuple):
    marks: frozenset[str]
    turn: str | None
    """The id of the user's message of the turn that they were read for."""
    at: float


@dataclass(frozen=True)
class ForgottenRounds:
    """Knows which rounds of a thread were forgotten. One for all nodes of a graph."""

    memories: Memories
    _known: OrderedDict[tuple[str, str], _Read] = field(default_factory=OrderedDict, repr=False)
    """What was read last."""

    async def left_out(
        self, run: Run, messages: Sequence[BaseMessage], *, ended: str | None = None
    ) -> list[BaseMessage]:
        """Return `messages` without the rounds that were forgotten. The running turn stays, unless it has `ended`.

        `ended` is the id of the user's message that began it. They are not read again then, unless it had something forgotten.

        If the memories can't be asked, what was read last holds. If nothing was read before in this process, all but the
        running turn is left out: what was forgotten is not told because a database is slow.
        """
        if run.user_id is None or run.thread_id is None or not messages:
            return list(messages)
        start = (turn_start(messages) or 0) if ended is None else len(messages)
        if not start:
            return list(messages)
        if ended is None:
            marks = await self._marks(run.user_id, run.thread_id, messages[start].id, FRESH_SECONDS)
        else:
            marks = await self._marks(run.user_id, run.thread_id, ended)
        if marks is None:
            return list(messages[start:])
        earlier = without(messages[:start], marks, partial(request_id_of, run.user_id, run.thread_id))
        return [*earlier, *messages[start:]]

    def note(self, user_id: str, thread_id: str, turn: str | None, marks: frozenset[str]) -> None:
        """Take note of the marks of a thread that were read for a turn, which its user's message names."""
        self._known[user_id, thread_id] = _Read(marks, turn, time.monotonic())
        self._known.move_to_end((user_id, thread_id))
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)

    def changed(self, user_id: str) -> None:
        """Take note that a turn has had something of the user's forgotten: what was read before holds no longer."""
        for thread in [thread for thread in [*self._known] if thread[0] == user_id]:
            self._known.pop(thread, None)

    async def may_be_told(self, user_id: str | None, thread_id: str, rounds: Sequence[ThreadRound]) -> bool:
        """Whether none of `rounds` was forgotten, be it while a summary was made of them."""
        if user_id is None:
            return True
        marks = await self.memories.forgotten(user_id, thread_id)
        said = (message_id for each in rounds for message_id in each.said_ids)
        return not marks or marks.isdisjoint(request_id_of(user_id, thread_id, each) for each in said)

    async def _marks(
        self, user_id: str, thread_id: str, turn: str | None, seconds: float = math.inf
    ) -> frozenset[str] | None:
        """Return the marks of a thread, read once in so many seconds for a `turn`, which its user's message names."""
        thread = user_id, thread_id
        known = self._known.get(thread)
        if known is not None and known.turn == turn is not None and time.monotonic() - known.at < seconds:
            return known.marks
        try:
            async with asyncio.timeout(READ_SECONDS):
                marks = await self.memories.forgotten(user_id, thread_id)
        except Exception as error:  # noqa: BLE001  # the turn goes on, whatever a foreign store raises
            cause = type(error).__name__
            forgotten_unread.labels(cause).inc()
            logger.warning("forgotten_unread cause=%s known=%s", cause, thread in self._known)
            return None if known is None else known.marks
        self.note(user_id, thread_id, turn, marks)
        return marks


def without(
    messages: Sequence[BaseMessage], marks: Collection[str], request_of: Callable[[str | None], str]
) -> list[BaseMessage]:
    """Return `messages` without those of the requests in `marks`: the user's message of each and all up to their next one.

    A greeting before the user's first message goes with it. A message may have its request's id as its own.
    """
    if not marks:
        return list(messages)

    def may_be_told(message: BaseMessage) -> bool:
        return message.id not in marks and request_of(message.id) not in marks

    first = next((message for message in messages if isinstance(message, HumanMessage)), None)
    is_told = first is None or may_be_told(first)
    begun = False
    left: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            begun, is_told = True, may_be_told(message)
        if is_told or (not begun and isinstance(message, SystemMessage)):
            left.append(message)
    return left


def texts_of_rounds(run: Run, messages: Sequence[BaseMessage]) -> dict[str, str]:
    """Return what was said and answered in each round before the running turn, by request_id, as memories have it."""
    return {request_id: untagged(text) for request_id, text in _rounds(run, messages[: turn_start(messages) or 0])}


def tags_of_rounds(run: Run, messages: Sequence[BaseMessage], redactor: TextRedactor) -> dict[str, frozenset[str]]:
    """Return the tagged placeholders of each round, the running one included, by request_id; tools get the real values."""
    return {request_id: tags_of(text, run.thread_id, redactor) for request_id, text in _rounds(run, messages)}


def tags_of(text: str, thread_id: str | None, redactor: TextRedactor) -> frozenset[str]:
    """Return the tagged placeholders of a text of the thread."""
    return frozenset(match[0] for match in TAGGED.finditer(of_thread(redactor, thread_id).redact(text)))


def _rounds(run: Run, messages: Sequence[BaseMessage]) -> Iterator[tuple[str, str]]:
    greeting: list[BaseMessage] = []
    for said in split_rounds(messages):
        text = "\n".join(map(text_of, (*greeting, *said)))
        users = [message for message in said if is_persons(message)]
        greeting = [] if users else [message for message in said if isinstance(message, AIMessage)]
        for message in users:
            yield request_id_of(run.user_id, run.thread_id, message.id), text

"""Who is at the playground, and what each has said: by the session of their browser, in RAM alone."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID, uuid4

from discreet.api.playground.turn import Turn
from discreet.api.playground.words import Person, people

MAX_VISITORS: Final = 50
"""Sessions that are held; then those go that have said nothing, then those that nobody has used for longest."""
MAX_TURNS: Final = 50
"""Turns of a conversation that are shown."""


@dataclass(kw_only=True)
class Conversation:
    """One thread of one person."""

    thread_id: str = field(default_factory=lambda: str(uuid4()))
    turns: list[Turn] = field(default_factory=list, repr=False)
    task: asyncio.Task[None] | None = field(default=None, repr=False)
    """Runs the last turn."""

    @property
    def last(self) -> Turn | None:
        """The turn that runs, or ran last."""
        return self.turns[-1] if self.turns else None

    @property
    def is_running(self) -> bool:
        """Whether a turn runs."""
        return self.last is not None and self.last.is_running

    def add(self, turn: Turn) -> None:
        """Show `turn` too, and no more of the oldest where there are many."""
        self.turns = [*self.turns[1 - MAX_TURNS :], turn]

    def stop(self) -> None:
        """End the turn that runs, if there is one."""
        if self.task is not None:
            self.task.cancel()


@dataclass(kw_only=True)
class Visitor:
    """One browser. Its people are its own: another browser's Ann is somebody else to the database."""

    session: str = field(repr=False)
    """Random, and known to the browser alone."""
    language: str | None = None
    """That was chosen for the page; None: as the browser asks."""
    person: Person = field(default_factory=lambda: people()[0])
    """Who speaks."""
    conversations: dict[str, Conversation] = field(default_factory=dict, repr=False)
    """By the person's key."""
    secret: str = field(default_factory=lambda: f"sk-{secrets.token_hex(24)}", repr=False)
    """A key to tell the assistant: nobody's, and no other visitor's."""

    @property
    def user_id(self) -> str:
        """Return what the graph knows the person by: the session can't be told from it."""
        digest = UUID(bytes=hashlib.sha256(self.session.encode()).digest()[:16])  # no digits of it are a card's
        return f"playground/{digest}/{self.person.key}"

    @property
    def has_spoken(self) -> bool:
        """Whether there is a conversation to lose."""
        return any(each.turns for each in self.conversations.values())

    @property
    def conversation(self) -> Conversation:
        """The one that the person is in."""
        return self.conversations.setdefault(self.person.key, Conversation())

    def begin_anew(self) -> None:
        """Leave the conversation for a new one; a turn that runs in it ends."""
        self.conversation.stop()
        self.conversations[self.person.key] = Conversation()

    def leave(self) -> None:
        """End all turns that run."""
        for conversation in self.conversations.values():
            conversation.stop()


class Visitors:
    """Those whom this process remembers."""

    def __init__(self) -> None:
        self._visitors: OrderedDict[str, Visitor] = OrderedDict()

    def of(self, session: str) -> Visitor:
        """Return who has this session; somebody new if nobody has it."""
        visitor = self._visitors.setdefault(session, Visitor(session=session))
        self._visitors.move_to_end(session)
        while len(self._visitors) > MAX_VISITORS:
            others = [each for each in self._visitors.values() if each is not visitor]
            going = next((each for each in others if not each.has_spoken), others[0])
            self._visitors.pop(going.session).leave()
        return visitor

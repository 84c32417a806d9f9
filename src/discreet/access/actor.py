"""Who acts: told by what receives a request or a command, asked by what writes down who did what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

ActorKind = Literal["user", "admin", "operator", "worker", "import", "mcp"]
"""`user`: a person through a conversation or a request; `admin`: an administrator through a request or a page; `operator`:
somebody at the command line; `worker`: a program on its own behalf; `mcp`: a person through a model that has our tools by MCP."""


@dataclass(frozen=True, kw_only=True)
class Actor:
    """Who does something, and by which request."""

    kind: ActorKind
    identity: str | None = None
    """What the database knows them by: an opaque id, never a name. None: the user whose data it is about, or nobody in
    particular."""
    request_id: str | None = None
    ip_address: str | None = None
    user_agent: str | None = None


SELF = Actor(kind="user")
"""The user whose data it is, as far as is known."""

WORKER = Actor(kind="worker")
"""A program of ours that works for the users whose data it is."""

_current: ContextVar[Actor] = ContextVar("discreet_actor", default=SELF)


def current_actor() -> Actor:
    """Return who acts here; the user whose data it is, if nobody was named."""
    return _current.get()


def name_actor(actor: Actor) -> None:
    """Name who acts from here on, to the end of the `acting` block around it."""
    _current.set(actor)


@contextmanager
def acting(actor: Actor) -> Iterator[None]:
    """Name who acts inside the block, also in tasks that begin there and on other event loops that it calls."""
    token = _current.set(actor)
    try:
        yield
    finally:
        _current.reset(token)


_delegate: ContextVar[UUID | None] = ContextVar("discreet_delegate", default=None)


def current_delegate() -> UUID | None:
    """Return the key of the user who reads here what another lets them read; None: nobody does."""
    return _delegate.get()


def read_as_delegate(delegate_key: UUID) -> None:
    """Say that from here on a user reads what another lets them read: the database looks whether that holds, and has nothing written."""
    _delegate.set(delegate_key)


@contextmanager
def beside_reading() -> Iterator[None]:
    """Do inside the block what the program itself has to write while a delegate reads."""
    token = _delegate.set(None)
    try:
        yield
    finally:
        _delegate.reset(token)

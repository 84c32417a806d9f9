"""What the routes and the admin page work on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from discreet.access.caller import Caller
from discreet.api.actors import Denials
from discreet.ports import ConversationLog, Memories, SettingsStore, ShortTermStore, TextRedactor, TurnVault
from discreet.rights.erasure import Elsewhere
from discreet.settings import Settings
from discreet.storage.background import Background
from discreet.storage.background.ages import Waiting
from discreet.storage.delegation import PostgresDelegations
from discreet.storage.wiring import Storage


class Authenticates(Protocol):
    """Tells who sends a request."""

    async def caller(self, headers: Mapping[str, str], client_host: str | None) -> Caller:
        """Return who sends a request with these headers, whose names are in small letters.

        Raises:
            UnauthorisedError: The credentials are missing, wrong or expired.
        """
        ...

    def identity(self, subject: str) -> str:
        """Return what the database knows `subject` by."""
        ...


class TellsHealth(Protocol):
    """Tells whether the database works."""

    async def state(self) -> Literal["ok", "busy"]:
        """Return whether its connections are all in use; it works.

        Raises:
            StorageError: It doesn't work.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Services:
    """Ports, so that tests can give fakes."""

    memories: Memories
    log: ConversationLog
    short_term: ShortTermStore
    memory_settings: SettingsStore
    authenticator: Authenticates
    redactor: TextRedactor
    settings: Settings
    background: Background | None = None
    """What is made of conversations afterwards. None: there are no routes and pages about it."""
    storage: Callable[[], Storage] | None = None
    """The open storage of this event loop. None: there are no routes and pages about all that is kept of a user."""
    delegations: PostgresDelegations | None = None
    """Who may read what is somebody else's. None: nobody."""
    denials: Denials = field(default_factory=Denials)
    """Hears who was refused."""
    restarting: Callable[[], bool] = lambda: False
    """Whether the database is down and comes back by itself."""
    health: TellsHealth | None = None
    """None: the memories are asked for an entry that nobody has."""
    vault: TurnVault | None = None
    """What running turns really said. None: its health is not asked."""
    waiting: Callable[[], Awaitable[Waiting]] | None = None
    """How long work waits, and how many workers are alive. None: that is not known."""
    session_key: bytes | None = None
    """32 bytes that sessions of the admin page are signed with, the same in every process. None: they end with this one."""
    elsewhere: Sequence[Elsewhere] = ()
    """Places beside the database that have something of users, in a server that is not LangGraph's own."""

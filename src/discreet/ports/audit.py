"""The audit trail: who did what to whose data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NotRequired, Protocol, TypedDict, Unpack
from uuid import UUID

NOBODY: Final = UUID(int=0)
"""Whose entries they are that concern nobody in particular: settings, keys, sweeps, requests of who is unknown."""


@dataclass(frozen=True, kw_only=True)
class AuditEntry:
    """One thing that was done, or refused. No content, and no name in the clear."""

    user_key: UUID
    """Whose data it was about; `NOBODY` for what concerns nobody in particular."""
    number: int
    """From 1, without gaps, among the entries of that person."""
    at: datetime
    """When it was done."""
    actor_kind: str
    """`user`, `admin`, `operator`, `worker` or `import`."""
    actor: str | None
    """Pseudonym of who did it; None: the person themselves, or a program of ours on its own behalf."""
    action: str
    """Dotted words, such as `memory.write`."""
    success: bool
    """Whether it was done; else it was refused."""
    data: str
    """Kind of data, such as `memory`."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many of what."""
    request_id: str | None = None
    """The request that it was done by."""
    ip_address: str | None = None
    """Where that came from."""
    user_agent: str | None = None
    """The program that sent it, as it names itself, redacted."""


class EntryDetails(TypedDict):
    """What is told of an action. None of it may hold anything that somebody said."""

    user_key: UUID | str | None
    """Whose data it is about: by their key, or by their user_id; None for what concerns nobody in particular."""
    data: str
    """A kind of data."""
    success: NotRequired[bool]
    """True unless given."""
    counts: NotRequired[Mapping[str, int] | None]
    """How many of what."""


class AuditLog(Protocol):
    """Adds to the audit trail. Who acts is what `discreet.access.actor.current_actor()` says.

    `action` is a dotted word that docs/audit.md lists.
    """

    async def record(self, action: str, **details: Unpack[EntryDetails]) -> None:
        """Add an entry, in a transaction of its own.

        Raises:
            StorageError: It could not be written.
        """
        ...

    async def record_in(self, cursor: Any, action: str, **details: Unpack[EntryDetails]) -> None:
        """Add an entry within the transaction of `cursor`, a psycopg cursor: it is there if what it tells of is.

        Whoever else writes for that person waits until the transaction ends. So it comes last; entries of several people come
        in the order of their keys.
        """
        ...

    async def record_reading(
        self, action: str, *, user_key: UUID | str, data: str, counts: Mapping[str, int] | None = None
    ) -> None:
        """Add an entry, as `record`, if somebody else reads what is this person's. Their own reading leaves none.

        Raises:
            StorageError: It could not be written: what was read must not be handed out.
        """
        ...


class NoAudit:
    """Writes nothing down, where DISCREET_AUDIT is off."""

    async def record(self, action: str, **_: Any) -> None:
        """Do nothing."""

    async def record_in(self, cursor: Any, action: str, **_: Any) -> None:
        """Do nothing."""

    async def record_reading(self, action: str, **_: Any) -> None:
        """Do nothing."""

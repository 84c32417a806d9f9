"""What of a user is to be erased."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, Self
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, model_validator

ScopeName = Literal["all", "recent", "memory", "thread", "said"]

RECENT_DAYS: Final = 7
MAX_DAYS: Final = 3_650

_TOLD: Final[Mapping[ScopeName, Sequence[set[str]]]] = {
    "all": [set()],
    "recent": [{"since"}],
    "memory": [{"entry_id"}],
    "thread": [{"thread_id"}],
    "said": [{"entry_id"}, {"text"}],
}
"""What a scope has to be told, and nothing beside."""


class Scope(BaseModel):
    """What of a user is to go."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ScopeName
    """`all` that is kept of them; what is `recent`; one `memory` with what was derived from it; one `thread` with what was; or
    what they `said`: a fact with the memories and summaries that tell it, and the turns that it comes from, in log and thread."""
    since: AwareDatetime | None = None
    """Of `recent`."""
    thread_id: str | None = None
    """Of `thread`."""
    entry_id: UUID | None = None
    """Of `memory`; of `said`, if a memory tells it."""
    text: str = ""
    """Of `said`, in the user's words, else."""
    namespaces: Sequence[Sequence[str]] = ()
    """Of `all`: namespaces of the store that are theirs, with those below, where labels of the server's don't say so."""

    @model_validator(mode="after")
    def _is_clear(self) -> Self:
        self.model_dump_json()  # what can't be encoded is kept nowhere, and can't be looked for
        told = {
            "since": self.since is not None,
            "thread_id": bool(self.thread_id),
            "entry_id": self.entry_id is not None,
            "text": bool(self.text.strip()),
        }
        is_clear = {what for what, is_told in told.items() if is_told} in _TOLD[self.name]
        if not is_clear or (self.namespaces and self.name != "all"):
            raise ValueError(f"The scope {self.name} needs to be told what is meant, and one thing alone.")
        return self

    @classmethod
    def everything(cls, namespaces: Sequence[Sequence[str]] = ()) -> Self:
        """Return the scope of all that is kept of a user."""
        return cls(name="all", namespaces=namespaces)

    @classmethod
    def recent(cls, days: float = RECENT_DAYS, *, now: datetime | None = None) -> Self:
        """Return the scope of the last days.

        Raises:
            ValueError: `days` is not above 0, or above `MAX_DAYS`.
        """
        if not 0 < days <= MAX_DAYS:
            raise ValueError(f"{days} days are not recent: give more than 0 and {MAX_DAYS:,} at most.")
        return cls(name="recent", since=(now or datetime.now(UTC)) - timedelta(days=days))


class Turn(BaseModel):
    """A turn that is to go."""

    model_config = ConfigDict(frozen=True)

    thread_id: str
    request_id: str
    began_at: AwareDatetime
    ended_at: AwareDatetime


class Plan(BaseModel):
    """What is to go, as it lies sealed until it has."""

    model_config = ConfigDict(frozen=True)

    user_id: str | None
    """None: whoever spoke in the scope's thread, where no user was known."""
    scope: Scope
    turns: Sequence[Turn] = ()
    """Found when the erasure began."""

    @property
    def threads(self) -> list[str]:
        """The threads that turns of are to go, or all of which is, each once."""
        named = [self.scope.thread_id] if self.scope.thread_id else []
        return list(dict.fromkeys([*named, *(turn.thread_id for turn in self.turns)]))

    def turns_of(self, thread_id: str) -> list[Turn]:
        """Return those of a thread."""
        return [turn for turn in self.turns if turn.thread_id == thread_id]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is to be left of whom it is about."""
        return self.scope.name == "all" or self.user_id is None

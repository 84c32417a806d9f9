"""Under which epoch work for a user began: noted by what begins it, asked by what writes for them.

Each erasure gives its user another epoch, so that what was under way stores nothing afterwards. A turn carries what it began
under in its state, over pauses and from process to process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self
from uuid import UUID

NEVER_ERASED: Final = 1
"""The epoch of a user until the first erasure."""


@dataclass(frozen=True)
class Beginning:
    """Under which epoch work began; where the database could not be asked, when."""

    user_key: UUID | None
    epoch: int = 0
    at: datetime | None = None

    def __str__(self) -> str:
        """Return what a turn's state has of it."""
        return f"{self.user_key}/{self.epoch}" if self.at is None else f"at/{self.at.isoformat()}"

    @classmethod
    def of(cls, told: str) -> Self:
        """Return what `str` made a text of.

        Raises:
            ValueError: It is none.
        """
        first, _, second = told.partition("/")
        return cls(None, at=datetime.fromisoformat(second)) if first == "at" else cls(UUID(first), int(second))


_run: ContextVar[tuple[object, datetime] | None] = ContextVar("discreet_run", default=None)


def note_run(control: object, at: datetime) -> None:
    """Note that a run had not begun before `at`, by the database's clock: its checkpointer read the thread then.

    `control` is what LangGraph gives to all parts of a run.
    """
    _run.set((control, at))


def run_began_after(control: object) -> datetime | None:
    """Return what was noted of the run that is done here; None if nothing was."""
    noted = _run.get()
    return noted[1] if noted is not None and control is not None and noted[0] is control else None


_current: ContextVar[Beginning | None] = ContextVar("discreet_beginning", default=None)


def current_beginning() -> Beginning | None:
    """Return under what the work that is done here began, if that was told."""
    return _current.get()


@contextmanager
def begun(told: str | Beginning | None) -> Iterator[None]:
    """Say under what the block's work began, also in tasks that begin there and on other event loops that it calls.

    None leaves it as it was.
    """
    if told is None:
        yield
        return
    token = _current.set(Beginning.of(told) if isinstance(told, str) else told)
    try:
        yield
    finally:
        _current.reset(token)

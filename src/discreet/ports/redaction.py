"""Redaction, and what remembers the values while their turn runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable


class TextRedactor(Protocol):
    """Replaces sensitive values in a text by placeholders."""

    def redact(self, text: str) -> str:
        """Return `text` with a placeholder for each sensitive value. Pure and idempotent."""
        ...


@runtime_checkable
class ThreadAware(Protocol):
    """A redactor whose placeholders can tell the values of one thread apart."""

    def for_thread(self, thread_id: str) -> TextRedactor:
        """Return the redactor of one thread."""
        ...


def of_thread(redactor: TextRedactor, thread_id: str | None) -> TextRedactor:
    """Return the redactor for what stays in a thread; `redactor` itself if there is no thread or it knows none."""
    return redactor.for_thread(thread_id) if thread_id and isinstance(redactor, ThreadAware) else redactor


@runtime_checkable
class Masking(Protocol):
    """A redactor that hands out the values it took, for the turn that runs."""

    def mask(
        self, text: str, known: Mapping[str, str] | None = None, *, trusted: bool = False
    ) -> tuple[str, dict[str, str]]:
        """Return `text` redacted and, by tagged placeholder, the values that went; `known` has those of the turn so far.

        Tags that `text` brings along are dropped unless it is `trusted`.
        """
        ...


@runtime_checkable
class Marking(Protocol):
    """A redactor that knows its placeholders again."""

    @property
    def placeholders(self) -> re.Pattern[str]:
        """What they look like, with tag or without; the group `kind` is the type."""
        ...


class Found(Protocol):
    """One value that a redactor replaces."""

    @property
    def type(self) -> str:
        """Of its placeholder."""
        ...

    @property
    def start(self) -> int:
        """Index of its first character."""
        ...

    @property
    def end(self) -> int:
        """Index after its last character."""
        ...


@runtime_checkable
class Locating(Protocol):
    """A redactor that tells where the values are that it takes."""

    def findings(self, text: str) -> Sequence[Found]:
        """Return what `redact` replaces in storable `text`, in order, without overlaps."""
        ...


class TurnVault(Protocol):
    """Remembers for a while which value a placeholder stands for, and what messages said before they were redacted.

    It must not log, must not keep anything for longer than it is told, and may lose a turn at any time: its placeholders are
    shown as they are then. Blocking methods are for threads and scripts, the `a…` ones for an event loop.
    """

    def hold(self, turn: str, values: Mapping[str, str], *, seconds: float | None = None) -> None:
        """Add `values`, by tagged placeholder or other key, to those of `turn`. A key keeps the value it had first.

        From now on all of the turn lives `seconds`; by default as long as the vault's own time to live says.
        """
        ...

    def values(self, turn: str) -> dict[str, str]:
        """Return all values of `turn`; none if it is unknown, over, or lost."""
        ...

    def drop(self, turn: str) -> None:
        """Forget `turn`. One that is not there is no error."""
        ...

    async def ahold(self, turn: str, values: Mapping[str, str], *, seconds: float | None = None) -> None:
        """Do what `hold` does without blocking the event loop."""
        ...

    async def avalues(self, turn: str) -> dict[str, str]:
        """Do what `values` does without blocking the event loop."""
        ...

    async def adrop(self, turn: str) -> None:
        """Do what `drop` does without blocking the event loop."""
        ...

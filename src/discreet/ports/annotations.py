"""What is noted of a turn beside its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from discreet.ports.summaries import SpokenRound
from discreet.state.media import MediaMeta
from discreet.state.records import Annotation


@dataclass(frozen=True, kw_only=True)
class AnnotatedTurn:
    """A turn that is over, redacted."""

    said: str
    """What the user said, and the summaries of media."""
    answered: str
    """Empty if there was no answer."""
    heard: str = ""
    """What the user said, of a recording its words instead of its summary: to be read, not to be kept. Empty: as `said`."""
    media: Sequence[MediaMeta] = ()
    """Metadata of each medium."""
    summary: str = ""
    """The rolling summary of the thread before this turn, if there is one."""
    earlier: Sequence[SpokenRound] = ()
    """The rounds of the thread before this turn, oldest first."""


class TurnAnnotator(Protocol):
    """Says what is noted of a turn for the conversation log and the session record."""

    async def annotate(self, turn: AnnotatedTurn) -> Annotation:
        """Return the annotation of `turn`.

        It may raise anything, or take longer than a second: that costs the turn its annotation, nothing else.
        """
        ...

"""An annotator that says what it is told to say."""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.ports import AnnotatedTurn
from discreet.state.records import Annotation


@dataclass
class FixedAnnotator:
    """The port `TurnAnnotator` with one answer to all turns."""

    annotation: Annotation = field(default_factory=Annotation)
    turns: list[AnnotatedTurn] = field(default_factory=list)
    """What it was asked about, oldest first."""

    async def annotate(self, turn: AnnotatedTurn) -> Annotation:
        """Note `turn`, and return the annotation."""
        self.turns.append(turn)
        return self.annotation

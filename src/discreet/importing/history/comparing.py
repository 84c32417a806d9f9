"""Compare one user's rounds in V1's list with those of our log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from discreet.importing.history.rounds import content_of, is_from_v1, milliseconds, rid_of
from discreet.ports import TextRedactor
from discreet.redaction.records import redacted_turn
from discreet.state.records import TurnRecord

Kind = Literal["missing", "extra", "order", "text", "emergency"]
"""`missing` in our log; `extra` there, from V1; `order`: of another time; `text`: not what the redactor makes of V1's;
`emergency`: another flag."""
KINDS: Final[tuple[Kind, ...]] = ("missing", "extra", "order", "text", "emergency")


@dataclass(frozen=True)
class Pair:
    """A round of V1's and ours of it, which differ, or of which there is one alone."""

    their: TurnRecord | None
    our: TurnRecord | None
    kinds: frozenset[Kind]
    """In what they differ; nothing for one that our log has from elsewhere."""

    @property
    def request_id(self) -> str:
        """What names it."""
        turn = self.their or self.our
        return "" if turn is None else turn.request_id


def differing(theirs: Sequence[TurnRecord], ours: Sequence[TurnRecord], redactor: TextRedactor) -> list[Pair]:
    """Return what is not equal. Rounds with the same rid are compared by what was said, in whatever order they were written."""
    of_ours: dict[str, dict[str, TurnRecord]] = defaultdict(dict)
    for our in ours:
        of_ours[rid_of(our)][our.request_id] = our
    left: list[tuple[TurnRecord, TurnRecord]] = []
    for their in theirs:
        expected = redacted_turn(their, redactor)
        equal = _equal(expected, of_ours[rid_of(their)])
        if equal is None:
            left.append((their, expected))
        else:
            del of_ours[rid_of(their)][equal]
    found = []
    for their, expected in left:
        family = of_ours[rid_of(their)]
        if their.request_id in family:
            our = family.pop(their.request_id)
            found.append(Pair(their, our, frozenset(_kinds(expected, our))))
        else:
            found.append(Pair(their, None, frozenset({"missing"})))
    for family in of_ours.values():
        found += [Pair(None, our, frozenset({"extra"} if is_from_v1(our) else ())) for our in family.values()]
    return found


def _equal(expected: TurnRecord, ours: dict[str, TurnRecord]) -> str | None:
    wanted = content_of(expected)
    first = ours.get(expected.request_id)
    if first is not None and content_of(first) == wanted:
        return expected.request_id
    return next((name for name, our in ours.items() if content_of(our) == wanted), None)


def _kinds(expected: TurnRecord, our: TurnRecord) -> Iterator[Kind]:
    if milliseconds(expected.started_at) != milliseconds(our.started_at):
        yield "order"
    if (expected.input_text, expected.output_text) != (our.input_text, our.output_text):
        yield "text"
    if expected.is_emergency != our.is_emergency:
        yield "emergency"

"""Read the items of one user's list as turns of our log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from discreet.importing.history.keys import history_key
from discreet.importing.history.rounds import Numbering, parsed, turn_of
from discreet.importing.history.v1 import mark_of
from discreet.importing.source import BadRow
from discreet.state.records import TurnRecord


@dataclass
class Listed:
    """What some items are."""

    turns: list[TurnRecord] = field(default_factory=list)
    """Each once, under the id that it has in our log."""
    bad: list[BadRow] = field(default_factory=list)
    """What can't be read, with its place in the list, and the key."""
    doubled: int = 0
    """Items that V1 has twice."""


def listed(user_id: str, items: Iterable[bytes], *, start: int = 0, numbering: Numbering | None = None) -> Listed:
    """Return what the items are, the first of which has the number `start` in its list.

    `numbering` knows the items before them. Without it they are told apart among themselves alone.
    """
    numbering = numbering or Numbering()
    found = Listed()
    for number, item in enumerate(items, start):
        mark = mark_of(number)
        said = parsed(mark, item)
        turn = said if isinstance(said, BadRow) else turn_of(user_id, said, mark=mark)
        if isinstance(turn, BadRow):
            found.bad.append(replace(turn, key=history_key(user_id).encode()))
            continue
        turn, is_double = numbering.of(turn)
        if is_double:
            found.doubled += 1
        else:
            found.turns.append(turn)
    return found

"""Search a text piece by piece, as if it were searched whole: where it may be cut, and what the next piece has to see before it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from discreet.redaction.findings import Finding
from discreet.redaction.normalise import normalise

HOLD_BACK: Final = 512
"""Characters after a cut that are enough to know. No value with spaces in it is longer, a private key apart."""

CONTEXT: Final = 1024
"""Characters before a cut that recognisers still see: words such as "password" stand nearer than that."""

PLACE: Final = re.compile(r"\s+|(?<=[^\x00-\x7f][。、，！？；：])")
"""Where a text may be cut: white space, and clauses of scripts that have none. No token goes across either."""

_LINE: Final = re.compile("\n")
_NUMBER_BEFORE: Final = re.compile(r"[0-9][ \t\n.()-]*\Z")
_NUMBER_AFTER: Final = re.compile(r"[ \t\n.()+-]*[0-9]")


def found_in_pieces(
    text: str, search: Callable[[str], list[Finding]], carried: Callable[[str], str], chars: int
) -> list[Finding]:
    """Return what `search` finds in a text, asked for about `chars` characters at a time; more where no cut can be made.

    `carried` says of a text that was searched what has to stay in front of the rest.
    """
    found: list[Finding] = []
    head, first, done, size = "", 0, 0, chars
    while True:
        end = min(len(text), done + size)
        shift = first - len(head)
        seen = head + text[first:end]
        new = [each for each in search(seen) if each.end + shift > done]
        if end == len(text):
            cut = end
        else:
            place = last_cut(seen, done - shift, len(seen) - HOLD_BACK, [(each.start, each.end) for each in new])
            if place is None:
                size *= 2
                continue
            cut = place + shift
        found += [
            Finding(each.type, max(done, each.start + shift), each.end + shift)
            for each in new
            if each.start + shift < cut
        ]
        if cut == len(text):
            return found
        start = context_start(seen, cut - shift)
        head, first, done, size = carried(seen[:start]), start + shift, cut, chars


def last_cut(text: str, done: int, limit: int, taken: Iterable[tuple[int, int]]) -> int | None:
    """Return the last place before `limit` at which what is behind `done` can be cut; None if there is none.

    It is inside none of the spans that are `taken`, and in no number.
    """
    spans = list(taken)
    places = [match.start() for match in PLACE.finditer(text, done + 1, max(done + 1, limit))]
    for place in reversed(places):
        if not any(start < place < end for start, end in spans) and not _splits_number(text, place):
            return place
    return None


def context_start(text: str, done: int) -> int:
    """Return where what has to be seen before `done` begins: at a line or a word."""
    if done <= 2 * CONTEXT:
        return 0
    first = done - CONTEXT
    place = _LINE.search(text, first, done) or PLACE.search(text, first, done)
    return place.end() if place else first


def _splits_number(text: str, place: int) -> bool:
    before = normalise(text[max(0, place - 24) : place]).text
    after = normalise(text[place : place + 24]).text
    return _NUMBER_BEFORE.search(before) is not None and _NUMBER_AFTER.match(after) is not None

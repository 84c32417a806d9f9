"""A text with placeholders, and the parts of it that a change can have changed the reading of."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from discreet.redaction.findings import Finding
from discreet.redaction.normalized_text import BLANK, Span, View
from discreet.redaction.placeholders import written

REACH = 512
"""Characters before and after a change that are looked at again. No recogniser looks further for what it decides on."""

MARGIN = 200
"""Of these the outer ones are context only: what is found there may be cut off."""

NEAR = 120
"""Characters around an escape or a number in pieces that are read again with it."""

OUTER_WORD = re.compile(rf"\S{{1,{NEAR // 2}}}(?=\s)")

MOST_SHARE = 0.5
"""Where parts are more of the text than this, the whole costs no more."""


def with_placeholders(text: str, findings: Sequence[Finding]) -> View:
    """Return a view of `text` with an untagged placeholder for each finding."""
    return View(text).spliced((each.start, each.end, written(each.type)) for each in findings)


def neighbourhoods(text: str, findings: Sequence[Finding], new: Sequence[Finding]) -> list[Span] | None:
    """Return the parts around what is `new` among `findings`, as places in the text with placeholders.

    None if that is most of the text.
    """
    starts = [each.start for each in findings]
    touched = {bisect_right(starts, each.start) - 1 for each in new}
    growth = [len(written(each.type)) - (each.end - each.start) for each in findings]
    length = len(text) + sum(growth)
    parts: list[Span] = []
    shift = 0
    for index, each in enumerate(findings):
        start, end = each.start + shift, each.end + shift + growth[index]
        shift += growth[index]
        if index in touched:
            first, last = max(0, start - REACH), min(length, end + REACH)
            if parts and first <= parts[-1][1]:
                first = parts.pop()[0]
            parts.append((first, last))
    return None if sum(last - first for first, last in parts) > MOST_SHARE * length else parts


def inside(part: View, *, at_start: bool, at_end: bool) -> Span:
    """Return the span of the source in which what is found in a part is whole: all but its edges, if it has any."""
    last = len(part.text)
    start = 0 if at_start else part.source(MARGIN, MARGIN + 1)[0]
    return start, part.source(last - 1, last)[1] if at_end else part.source(last - MARGIN - 1, last - MARGIN)[1]


def changed_parts(view: View, edits: Sequence[Span]) -> list[View]:
    """Return the parts of a view that edits of the original can have changed the reading of; all of it if that is most.

    Their edges are blank, so that nothing is taken for whole that they cut off.
    """
    spans = view.parts_around(edits, NEAR)
    if sum(last - first for first, last in spans) > MOST_SHARE * len(view.text):
        return [view]
    return [
        _with_blank_edges(view.part(first, last), at_start=first == 0, at_end=last == len(view.text))
        for first, last in spans
    ]


def _with_blank_edges(part: View, *, at_start: bool, at_end: bool) -> View:
    """Blank the words that the edges cut through, as far as they end within the outer half."""
    edges = []
    if not at_start and (head := OUTER_WORD.match(part.text)):
        edges.append((*head.span(), BLANK))
    if not at_end and (tail := OUTER_WORD.match(part.text[: -NEAR // 2 - 1 : -1])):
        edges.append((len(part.text) - tail.end(), len(part.text), BLANK))
    return part.spliced(edges)

"""Which characters of a text are gone from its redacted form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from discreet.redaction import Finding

PLACEHOLDER = re.compile(r"<([A-Z][A-Z_]*)(?::[A-Z2-7]{1,16})?>")

Step = dict[int, tuple[int, int]]
"""Start of a literal piece -> how much of what is hidden before it was found, and where the piece before ends."""


class UnalignedError(Exception):
    """The output is not the input with placeholders for parts of it."""


def hidden(text: str, output: str, findings: Sequence[Finding]) -> list[Finding]:
    """Return which parts of `text` the placeholders of `output` stand for, and their types.

    What is between placeholders has to be found in `text`, in its order. Where that can be done in several ways
    (`1 <X> 1` of `1 2 1 3 1`), it is done such that as much as possible of the `findings` is hidden; they decide nothing else.
    A placeholder that stands in `text` already, and stays, hides nothing.

    Raises:
        UnalignedError: It can't be done at all.
    """
    if text == output:
        return []
    pieces = PLACEHOLDER.split(output)
    literals, types = pieces[::2], pieces[1::2]
    if not types or not text.startswith(literals[0]):
        raise UnalignedError
    found = _counted(len(text), findings)
    steps: list[Step] = [{0: (0, 0)}]
    for number, literal in enumerate(literals[1:], 1):
        last = number == len(literals) - 1
        steps.append(_next_step(text, literals[number - 1], literal, steps[-1], found, last=last))
    gaps = _trace(steps, literals, types)
    written = [match.group() for match in PLACEHOLDER.finditer(output)]
    return [gap for gap, placeholder in zip(gaps, written, strict=True) if text[gap.start : gap.end] != placeholder]


def _next_step(text: str, before: str, literal: str, previous: Step, found: list[int], *, last: bool) -> Step:
    """Return where `literal` can stand after `before` with something hidden between them."""
    ends = sorted((start + len(before), score) for start, (score, _) in previous.items())
    step: Step = {}
    best: tuple[int, int] | None = None
    """Of the ends passed, the one that leaves most findings to be hidden: their count at the end is taken away."""
    passed = 0
    for start in _places(text, literal, ends[0][0] + 1, last=last):
        while passed < len(ends) and ends[passed][0] < start:
            end, score = ends[passed]
            best = max(best or (score - found[end], end), (score - found[end], end))
            passed += 1
        if best is not None:
            step[start] = best[0] + found[start], best[1]
    if not step:
        raise UnalignedError
    return step


def _places(text: str, literal: str, first: int, *, last: bool) -> Iterator[int]:
    if last:
        if text.endswith(literal) and len(text) - len(literal) >= first:
            yield len(text) - len(literal)
        return
    start = text.find(literal, first)
    while start >= 0:
        yield start
        start = text.find(literal, start + 1)


def _trace(steps: Sequence[Step], literals: Sequence[str], types: Sequence[str]) -> list[Finding]:
    (start,) = steps[-1]
    gaps: list[Finding] = []
    for number in range(len(steps) - 1, 0, -1):
        end = steps[number][start][1]
        gaps.append(Finding(types[number - 1], end, start))
        start = end - len(literals[number - 1])
    return gaps[::-1]


def _counted(size: int, findings: Sequence[Finding]) -> list[int]:
    """Return for each place how many characters before it are in a finding."""
    inside = bytearray(size)
    for finding in findings:
        inside[finding.start : finding.end] = b"\1" * (finding.end - finding.start)
    counts = [0]
    for one in inside:
        counts.append(counts[-1] + one)
    return counts

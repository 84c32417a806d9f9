"""Private keys in PEM, OpenPGP and PuTTY armour."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.normalise import normalise
from discreet.redaction.normalized_text import Span, View

MOST_MARKS = 160
"""Characters that may stand before each line of a key, or behind it: what logs, quotes, comments and differences write."""

LEAST_ROW = 16
"""Characters of a line of base64 that is one whatever the next line is."""

MOST_OPEN = 512
"""Characters behind a line of a key after which no other follows it."""

PIECE = re.compile(r"(?P<word>\w+)|(?P<space>[^\S\n]+)|[^\w\s]")
ROW = re.compile(
    r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\r\n\\\0\"]{1,200}|[A-Za-z0-9+/]{1,4000}={0,2}|=[A-Za-z0-9+/]{4}"
)
"""A line between BEGIN and END, without what stands around it."""


class PrivateKeyRecogniser:
    """Pairs BEGIN and END lines, over any number of lines between them.

    A key whose END is missing (cut off by a length limit or by a stream) reaches to the last line that looks like base64.
    """

    type = "SECRET"

    MARKER = re.compile(r"-{2,5} ?(?P<edge>BEGIN|END) (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{2,5}")
    """RFC 7468, section 2, and RFC 9580, section 6.2. Line breaks may be escaped, as in JSON and .env files."""

    REST = re.compile(
        r"(?:(?:\\{1,2}[nrt]|[\s>|\"'+,#*/]){1,12}+"
        r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset):[^\r\n\\\0]{0,200}+|[A-Za-z0-9+/=]{16,4000}+|=[A-Za-z0-9+/]{4}(?![A-Za-z0-9])"
        r"|[A-Za-z0-9+/]{2,76}={0,2}(?=[\s\\\"']{0,8}(?:-{2,5}|\Z)))){0,1000}+"
    )
    """What follows BEGIN: lines of base64 and the headers of RFC 1421, section 4.6, with quotes or marks around the lines."""

    PUTTY = re.compile(r"Private-Lines: [0-9]{1,3}(?P<value>(?:(?:\\[nr]|\s){1,4}+[A-Za-z0-9+/=]{4,80}+){1,200}+)")
    """PuTTY's own format, appendix C of its manual."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all keys, with their BEGIN and END lines."""
        text = view.text
        if "PRIVATE KEY" in text:
            yield from self.armoured(text)
        if "Private-Lines" in text:
            yield from (match.span("value") for match in self.PUTTY.finditer(text))

    def armoured(self, text: str) -> Iterator[Span]:
        """Return the spans of keys between BEGIN and END."""
        yield from ((start, end) for start, end, _ in self._keys(text))

    def open_from(self, text: str) -> int:
        """Return where a key begins that may go on once more is written; the length of `text` if none does."""
        if "PRIVATE KEY" not in text:
            return len(text)
        view = normalise(text)
        for start, end, is_whole in self._keys(view.text):
            behind = view.text[end:]
            if not is_whole and len(behind) <= MOST_OPEN and behind.count("\n") <= 2:  # a short line, and a new one
                return view.source(start, end)[0]
        return len(text)

    def _keys(self, text: str) -> Iterator[tuple[int, int, bool]]:
        """Yield start and end of each key, and whether it has its END."""
        begin: re.Match[str] | None = None
        for marker in self.MARKER.finditer(text):
            if marker["edge"] == "BEGIN":
                if begin is not None:
                    yield begin.start(), self._end_of_unfinished(text, begin, marker.start()), False
                begin = marker
            elif begin is not None:
                yield begin.start(), marker.end(), True
                begin = None
        if begin is not None:
            yield begin.start(), self._end_of_unfinished(text, begin, len(text)), False

    def _end_of_unfinished(self, text: str, begin: re.Match[str], until: int) -> int:
        rest = self.REST.match(text, begin.end())
        return max(rest.end() if rest else 0, _end_of_rows(text, begin, until))


def _end_of_rows(text: str, begin: re.Match[str], until: int) -> int:
    """Return where the lines of a key end that have around them what BEGIN has, but for the words and numbers in it."""
    end = short = begin.end()
    first = max(0, begin.start() - MOST_MARKS - 1)
    start = text.rfind("\n", first, begin.start()) + 1
    place = text.find("\n", end, end + MOST_MARKS) + 1
    before, behind = _pieces(text[max(start, first) : begin.start()]), _pieces(text[end:place].rstrip())
    if not place or start < first or not before + behind:  # `REST` is for lines without marks
        return end
    was_blank = False
    while 0 < place < until:
        start, place = place, text.find("\n", place) + 1
        line = text[start : place or len(text)].rstrip()
        at = _end_of_marks(line, before)
        if at is None:
            return end
        if short > end and line.startswith("--", at):
            return short
        row = ROW.match(line, at)
        rest = _pieces(line[row.end() if row else at :])
        if rest != behind[: None if place else len(rest)] or (was_blank and not row):
            return end
        was_blank = row is None
        if row and (len(row[0]) >= LEAST_ROW or row[0][0] == "="):
            end = short = start + row.end()
        elif row:
            if short > end:
                return end
            short = start + row.end()  # the last, if END is next
    return short


def _pieces(text: str) -> list[str]:
    """Return the signs of a text, with "word" and "space" for each of those."""
    return [each.lastgroup or each[0] for each in PIECE.finditer(text)]


def _end_of_marks(line: str, marks: list[str]) -> int | None:
    """Return where marks end that a line begins with, or the line in the midst of them; None if it begins otherwise."""
    at = 0
    for mark in marks:
        piece = PIECE.match(line, at)
        if piece is None:
            break
        if (piece.lastgroup or piece[0]) != mark:
            return None
        at = piece.end()
    return at

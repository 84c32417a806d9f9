"""What the grammars of addresses share: a core that needs a house number, and parts that may follow it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import ClassVar

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View

UPPER = "".join(
    chr(code)
    for block in (range(0x41, 0x250), range(0x370, 0x530), range(0x1E00, 0x2000))
    for code in block
    if chr(code).isupper()
)
"""Capital letters of the Latin, Greek and Cyrillic scripts; Python's `re` has no name for them."""

DIGIT = lazy("[0-9]")

IDEOGRAPHS = lazy("[\u2e80-\ud7ff\uf900-\ufaff]")

WITH_NUMBER = lazy("[^\\W\\d_]{3}[^\u3002\n]{0,60}[0-9]|[0-9][^\u3002\n]{0,60}[^\\W\\d_]{3}")
"""A letter and a number between two ideographs."""

Core = tuple[re.Pattern[str], Callable[[re.Match[str], int], Span | None]]
"""A pattern, and what tells from a match and the end of the address before it where the address is, if it is one."""

MOST_PARTS = 8
"""Lines or comma-separated parts that are followed after the street."""

MOST_LOOSE = 3
"""Of these, such that only look like places."""

BREAK = r"(?:\r?\n|\\n|<br ?/?>)[ \t>?|*,]{0,12}"
"""End of a line, with the marks of a quotation, a list or a table before the next; `\\n` as JSON writes it."""

SEPARATOR = rf"(?=[ \t,;|\r\n\\<])(?>[ \t]{{0,3}}[,;|]?[ \t]{{0,3}}(?:{BREAK}){{0,2}})"


def words(text: str) -> frozenset[str]:
    """Return the words of `text`."""
    return frozenset(text.split())


def without_ideographs(text: str) -> str:
    """Return `text`, equally long, with full stops for Chinese, Japanese and Korean characters, which touch other words.

    Empty if nothing but those has a number beside it.
    """
    if text.isascii():
        return text
    text = IDEOGRAPHS.sub("\u3002", text)
    return text if "\u3002" not in text or WITH_NUMBER.search(text) else ""


def word_before(text: str, start: int) -> str:
    """Return the word in small letters that is one space before `start`, or nothing."""
    before = text[max(0, start - 16) : start].lower().split() if text[start - 1 : start] == " " else None
    return before[-1].lstrip("\"'([{") if before else ""


class AddressGrammar:
    """What recognisers of addresses inherit: how to go from a core to both ends of an address."""

    type: ClassVar[str] = "ADDRESS"
    LEAST_DIGITS = 1
    BEFORE: ClassVar[re.Pattern[str] | None] = None
    """What may belong to an address before its core; ends in `\\Z`."""
    BEFORE_ENDS: ClassVar[str] = " \n,>?*|\t\\n"
    """What its last character may be."""
    REACH: ClassVar[int] = 80
    """How many characters `BEFORE` is shown."""
    FIRM: ClassVar[re.Pattern[str]]
    """One further part, with what separates it. A group `last` lets no part but `AFTER_LAST` follow."""
    LOOSE: ClassVar[re.Pattern[str] | None] = None
    """A part that counts only where a firm one comes after it, or after a comma on the same line."""
    AFTER_LAST: ClassVar[re.Pattern[str] | None] = None
    SMALL_PLACES: ClassVar[re.Pattern[str] | None] = None
    """The parts that may follow in an address in small letters."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        raise NotImplementedError

    def each(self, text: str, *cores: Core) -> Iterator[Span]:
        """Yield what the judges of `cores` make of their matches.

        None begins within an address of the same core or lies within one of another: nothing is followed twice to its
        end, so that a list of addresses stays linear.
        """
        known: list[Span] = []
        for pattern, judge in cores:
            fresh: list[Span] = []
            place = floor = passed = covered = 0
            while match := pattern.search(text, place):
                start, place = match.span()
                while passed < len(known) and known[passed][0] <= start:
                    covered = max(covered, known[passed][1])
                    passed += 1
                if place > covered and (found := judge(match, floor)):
                    place = floor = max(place, found[1])
                    fresh.append(found)
                    yield found
            known = sorted(known + fresh)

    def small_end(self, match: re.Match[str], end: int) -> int:
        """Return where an address ends that has its street before `end`, if the street is in small letters."""
        places = self.SMALL_PLACES.match(match.string, end) if self.SMALL_PLACES and match[0].islower() else None
        return places.end() if places else end

    def opening(self, text: str, start: int, floor: int) -> int:
        """Return where the address begins, not before `floor`."""
        if self.BEFORE is None:
            return start
        window = text[max(floor, start - self.REACH) : start]
        before = self.BEFORE.search(window) if window and window[-1] in self.BEFORE_ENDS else None
        return start - len(window) + before.start() if before else start

    def postcode_end(self, text: str, end: int) -> int | None:
        """Return where the address ends, if its parts lead to a postcode with its place or region."""
        place = end
        for _ in range(MOST_LOOSE + 1):
            part = self.FIRM.match(text, place)
            if part and part["last"]:
                return self.closing(text, place)[0] if part["strong"] else None
            part = part or (self.LOOSE.match(text, place) if self.LOOSE else None)
            if part is None:
                break
            place = part.end()
        return None

    def closing(self, text: str, end: int) -> tuple[int, bool]:
        """Return where the address ends that has its core before `end`, and whether a firm part follows the core."""
        place, firm, loose = end, False, 0
        for _ in range(MOST_PARTS):
            part = self.FIRM.match(text, place)
            if part:
                place = end = part.end()
                firm = True
                if part.re.groupindex.get("last") and part["last"]:
                    after = self.AFTER_LAST.match(text, end) if self.AFTER_LAST else None
                    return (after.end() if after else end), True
                continue
            part = self.LOOSE.match(text, place) if self.LOOSE else None
            loose += 1
            if part is None or loose > MOST_LOOSE:
                break
            if "," in text[place : part.start("name")] and "\n" not in part[0]:
                end = part.end()
            place = part.end()
        return end, firm

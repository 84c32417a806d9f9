"""Addresses of any country in the order of an envelope: a name and a number, then a unit, a place or a postcode."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.recognisers.address.grammar import BREAK, DIGIT, SEPARATOR, UPPER, AddressGrammar, without_ideographs
from discreet.redaction.recognisers.address.western import AFTER_LAST, CITY, FIRM, LOOSE, UNIT, WORD, introduced
from discreet.redaction.recognisers.base import Span, View

_NAME = rf"(?:{WORD}\.?|(?:de|do|da|des|di|del|dei|u|ul|nad|na|van|la|le|rue|of|der|den)\.?)"
_HOUSE = r"[0-9]{1,5}[A-Za-z]?(?:[/-][0-9]{1,4}[A-Za-z]?)?\.?(?!\w|[.,:/-][0-9])"
_STREET = rf"(?:[0-9]{{1,6}} ){{0,2}}{_NAME}(?: {_NAME}){{0,5}}(?: {_HOUSE}(?: {_NAME}){{0,2}})?"
_STRONG_UNIT = r"(?i:apartment|apt|suite|ste|unit|flat)\.? ?#?[0-9]{1,5}[A-Za-z]?(?!\w)"
_ANY_CASE = r"(?:[0-9]{1,6} ){1,2}(?:(?!(?:is|was|were|and|or|but|in|on|at|for|with|the|a|to|has|have|are|from|my|your|as|it|that|this|of|so|then|than|x|units?)[ ])[\w.'-]{1,30} ){1,5}"


class WorldwideAddressRecogniser(AddressGrammar):
    """Finds streets whose names say nothing by what stands beside them.

    Either an apartment or suite with a number follows, or a number stands on both sides of the name and a place with
    a postcode or an introducing word is there, too.
    """

    WITH_UNIT = re.compile(r"(?:apt|apartment|suite|ste|unit|flat)\.? ?#?[0-9]")

    UNIT_AFTER = re.compile(rf"(?<![\w.$€£%+/#-])(?P<street>{_STREET}){SEPARATOR}{_STRONG_UNIT}")
    UNIT_BEFORE = re.compile(rf"(?<!\w){_STRONG_UNIT},? (?P<street>[0-9]{{1,6}} {_STREET})")
    SMALL = re.compile(rf"(?<![\w.$€£%+/#-]){_ANY_CASE}(?:[0-9]{{1,5}} )?{_STRONG_UNIT}", re.IGNORECASE)

    BOTH_SIDES = re.compile(
        rf"(?<![\w.$€£%+/#:-])(?P<street>[0-9]{{1,6}} (?P<name>{_NAME}(?: {_NAME}){{0,4}}) {_HOUSE})"
    )
    EITHER_SIDE = re.compile(
        rf"(?:(?i:address)(?:(?i:es| is| to| of [^\n:]{{2,40}} is))?:?|(?i:lives|living|resides?|residing) (?i:at|on|in))[ \n]{{1,8}}"
        rf"(?P<street>(?:[0-9]{{1,6}} ){{1,2}}{_NAME}(?: {_NAME}){{0,4}}(?: {_HOUSE})?|{WORD}(?: {_NAME}){{0,3}} {_HOUSE})(?![ ]?(?:%|years|people))"
    )
    CORNER = re.compile(
        rf"(?:[Tt]he )?[Cc]orner of (?=[^\n]{{0,80}}[0-9])(?:[0-9]{{1,6}} )?{_NAME}(?: {_NAME}){{0,4}}(?: {_HOUSE})?\.?(?: St\.)?"
        rf" (?:and|&) (?:[0-9]{{1,6}} )?{_NAME}(?: {_NAME}){{0,3}}(?: {_HOUSE})?"
    )

    NO_NAME = re.compile(
        rf"(?:[0-9 ]{{1,14}})?(?:(?:The|My|Our|In|At|On|For|And|But|We|I|He|She|They|It|Is|A|An|To|From|See|Of|Level|Page|Chapter|Unit|Step|Day|Week|PM|AM|"
        r"Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|January|February|March|April|June|July|August|September|October|November|December|"
        r"Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|de|do|da|des|di|del|dei|u|ul|nad|na|van|la|le|of|der|den)[ .]){1,3}(?![^ ]{3})"
        r"|(?:[0-9 ]{1,14})?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6} [0-9]{1,4}"
    )

    FIRM, LOOSE, AFTER_LAST = FIRM, LOOSE, AFTER_LAST
    END_OF_LINE = re.compile(rf"[ ]{CITY}(?: nan)?(?=[.?!,\n]|\Z)")
    BEFORE = re.compile(rf"(?<!\w){UNIT} \Z")
    REACH = 14

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        text, lowered = view.derived(without_ideographs), view.lowered
        if not DIGIT.search(text):
            return
        if self.WITH_UNIT.search(lowered):
            for pattern in (self.UNIT_AFTER, self.UNIT_BEFORE):
                for match in pattern.finditer(text):
                    if re.search("[0-9]", match["street"]) and not self.NO_NAME.match(match["street"]):
                        yield match.start(), self.whole(text, match.end())
            for match in self.SMALL.finditer(text):
                yield match.start(), self.whole(text, match.end())
        for match in self.BOTH_SIDES.finditer(text):
            end, firm = self.closing(text, match.end())
            if (firm or introduced(text, match.start())) and len(match["name"]) > 3 and not self.NO_NAME.match(match["street"]):  # noqa: PLR2004 - "PM", "Mar"
                yield self.opening(text, match.start()), end
        if "address" in lowered or "liv" in lowered or "resid" in lowered:
            for match in self.EITHER_SIDE.finditer(text):
                if not self.NO_NAME.match(match["street"]):
                    yield match.start("street"), self.closing(text, match.end())[0]
        if "orner of" in lowered:
            for match in self.CORNER.finditer(text):
                yield match.span()

    def whole(self, text: str, end: int) -> int:
        """Return where the address with its unit before `end` is over: after a place at the end of the line, too."""
        end, _ = self.closing(text, end)
        place = self.END_OF_LINE.match(text, end)
        return self.closing(text, place.end())[0] if place else end

"""Addresses of any country in the order of an envelope: a name and a number, then a unit, a place or a postcode."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.address.grammar import (
    DIGIT,
    SEPARATOR,
    AddressGrammar,
    Core,
    without_ideographs,
    words,
)
from discreet.redaction.recognisers.address.western import (
    AFTER_LAST,
    CITY,
    FIRM,
    LOOSE,
    SMALL_PLACES,
    UNIT,
    WORD,
    introduced,
)
from discreet.redaction.words import any_of

_NAME = rf"(?:{WORD}\.?|(?:de|do|da|des|di|del|dei|u|ul|nad|na|van|la|le|rue|of|der|den)\.?)"
_HOUSE = r"[0-9]{1,5}[A-Za-z]?(?:[/-][0-9]{1,4}[A-Za-z]?)?\.?(?!\w|[.,:/-][0-9])"
_FIRST = rf"(?:(?:ul|u|rue|rua|via|calle|van|la|le)\.? )?{WORD}\.?"
_STREET = rf"(?:[0-9]{{1,6}} ){{0,2}}{_FIRST}(?: {_NAME}){{0,5}}(?: {_HOUSE}(?: {_NAME}){{0,2}})?"
_STRONG_UNIT = r"(?i:apartment|apt|suite|ste|unit|flat)\.? ?#?[0-9]{1,5}[A-Za-z]?(?!\w)"
_ANY_CASE = r"(?:[0-9]{1,6} ){1,2}(?:(?!(?:is|was|were|and|or|but|in|on|at|for|with|the|a|to|has|have|are|from|my|your|as|it|that|this|of|so|then|than|x|units?)[ ])[^\W\d_][\w.'-]{0,30}+ ){1,5}"

_NO_NAMES = "|".join(
    words(
        "Section Chapter Invoice Order Gate Terminal Flight Room Model Version Line Bus Platform Psalm Matthew Vol "
        "Volume No Lesson Article Part Phase Season Episode Grade Class The My Our In At On For And But We I He She "
        "They It Is A An To From See Of Level Page Unit Step Day Week PM AM Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov "
        "Dec January February March April June July August September October November December Monday Tuesday Wednesday "
        "Thursday Friday Saturday Sunday de do da des di del dei u ul nad na van la le of der den"
    )
)
"""Words before a number, or after one, that are no names of streets."""


class WorldwideAddressRecogniser(AddressGrammar):
    """Finds streets whose names say nothing by what stands beside them.

    Either an apartment or suite with a number follows, or a number stands on both sides of the name and a place with
    a postcode or an introducing word is there, too.
    """

    LONG_NUMBER = lazy(r"[0-9][0-9 -]{2}[0-9]|[0-9][A-Z]{2}|[0-9] ?[A-Z][0-9]")
    """In every postcode."""
    WITH_UNIT = lazy(r"(?:apt|apartment|suite|ste|unit|flat)\.? ?#?[0-9]")

    UNIT_AFTER = lazy(rf"(?<![\w.$€£%+/#-])(?P<street>{_STREET}){SEPARATOR}{_STRONG_UNIT}")
    UNIT_BEFORE = lazy(rf"(?<!\w){_STRONG_UNIT},? (?P<street>[0-9]{{1,6}} {_STREET})")
    SMALL = lazy(
        rf"(?<![\w.$€£%+/#-])(?P<street>{_ANY_CASE})(?:[0-9]{{1,5}}\.?)?(?:(?<= )|{SEPARATOR}){_STRONG_UNIT}",
        re.IGNORECASE,
    )

    BOTH_SIDES = lazy(rf"(?<![\w.$€£%+/#:-])(?P<street>[0-9]{{1,6}} (?P<name>{_FIRST}(?: {_NAME}){{0,4}}) {_HOUSE})")
    EITHER_SIDE = lazy(
        rf"(?:(?i:address)(?:(?i:es| is| to| of [^\n:]{{2,40}} is))?:?|(?i:lives|living|resides?|residing) (?i:at|on|in))[ \n]{{1,8}}"
        rf"(?P<street>(?:[0-9]{{1,6}} ){{1,2}}{_FIRST}(?: {_NAME}){{0,4}}(?: {_HOUSE})?|{WORD}(?: {_NAME}){{0,3}} {_HOUSE})(?![ ]?(?:%|years|people))"
    )
    TOLD_SMALL = lazy(
        r"(?:(?<!e-mail )(?<!email )(?<!ip )address(?:es| is| to)?:?|(?:lives|living|live|resides?"
        rf"|residing) at)[ \n]{{1,8}}(?P<street>{_ANY_CASE}[0-9]{{1,5}})(?=[,;!?\n]|\.(?![0-9])|\Z)",
        re.IGNORECASE,
    )
    BY_POSTCODE = lazy(
        rf"(?<![\w.$€£%+/#-])(?<![0-9],)(?:(?:{UNIT}{SEPARATOR})?(?P<street>[0-9]{{1,5}}[A-Za-z]?(?:[/-][0-9]{{1,4}})?(?:,? "
        rf"|,?\n){_FIRST}(?: {_NAME}){{0,4}})"
        rf"|(?P<flat>(?i:flat|studio|apartment|apt\.?|unit|suite) ?[0-9]{{1,4}}[A-Za-z]?{SEPARATOR}{CITY})"
        rf"|(?P<named>{WORD}\.?(?: (?:(?:de|do|da|dos|des|di|del|dei|van|la|le|of|der|den|i|y|e|nad"
        rf"|sv\.) )?{WORD}\.?){{0,4}},? (?:{_HOUSE}(?: [0-9]{{1,4}})?|[Ss]/[Nn])))(?!\w)"
    )
    """Street and number that need a postcode with its place or region to be believed."""

    NOUN = lazy(
        r" (?!(?:[Ss]t|[Ss]treet|in|and|is|on|at|near|with|or|but|for|to|last|this|next|please|by|until|nan)(?!\w))[^\W\d_]"
    )
    """A word that the number before it counts, or that goes on with the name."""

    NAME_BEFORE = lazy(rf"{WORD} \Z")
    CORNER = lazy(
        rf"(?:[Tt]he )?[Cc]orner of (?=[^\n]{{0,80}}[0-9])(?:[0-9]{{1,6}} )?{_NAME}(?: {_NAME}){{0,4}}(?: {_HOUSE})?\.?(?: St\.)?"
        rf" (?:and|&) (?:[0-9]{{1,6}} )?{_NAME}(?: {_NAME}){{0,3}}(?: {_HOUSE})?"
    )

    NO_NAME = lazy(
        rf"(?:[0-9 ]{{1,14}})?(?:{any_of(_NO_NAMES)}[ .]){{1,3}}(?![^ ]{{3}})"
        r"|(?:[0-9 ]{1,14})?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6} [0-9]{1,4}"
    )

    FIRM, LOOSE, AFTER_LAST, SMALL_PLACES = FIRM, LOOSE, AFTER_LAST, SMALL_PLACES
    END_OF_LINE = lazy(rf"[ ]{CITY}(?: nan)?(?=[.?!,\n]|\Z)")
    BEFORE = lazy(rf"(?<!\w){UNIT} \Z")
    REACH = 14

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        text, lowered = view.derived(without_ideographs), view.lowered
        if not DIGIT.search(text):
            return
        cores: list[Core] = []
        if self.WITH_UNIT.search(lowered):
            cores += (
                (self.UNIT_AFTER, self.judge_unit),
                (self.UNIT_BEFORE, self.judge_unit),
                (self.SMALL, self.judge_small),
            )
        cores.append((self.BOTH_SIDES, self.judge_both))
        if "address" in lowered or "liv" in lowered or "resid" in lowered:
            cores += (self.EITHER_SIDE, self.judge_told), (self.TOLD_SMALL, self.judge_small)
        if self.LONG_NUMBER.search(text):
            cores.append((self.BY_POSTCODE, self.judge_postcode))
        yield from self.each(text, *cores)
        if "orner of" in lowered:
            yield from (match.span() for match in self.CORNER.finditer(text))

    def judge_unit(self, match: re.Match[str], floor: int) -> Span | None:
        """Return the span of an address with a unit beside the street, which has a number of its own."""
        street = match["street"]
        if not DIGIT.search(street) or self.NO_NAME.match(street):
            return None
        return match.start(), self.whole(match.string, match.end())

    def judge_small(self, match: re.Match[str], floor: int) -> Span:
        """Return the span of an address in small letters."""
        return match.start("street"), self.small_end(match, self.whole(match.string, match.end()))

    def judge_both(self, match: re.Match[str], floor: int) -> Span | None:
        """Return the span of an address with a number on both sides of the name, and other evidence."""
        if len(match["name"]) <= len("Mar") or self.NO_NAME.match(match["street"]):
            return None
        end, firm = self.closing(match.string, match.end())
        told = introduced(match.string, match.start()) and not self.NOUN.match(match.string, match.end())
        return (self.opening(match.string, match.start(), floor), end) if firm or told else None

    def judge_postcode(self, match: re.Match[str], floor: int) -> Span | None:
        """Return the span of an address that ends in a postcode with its place or region."""
        if self.NO_NAME.match(match["street"] or match["named"] or ""):
            return None
        if match["street"] and self.NAME_BEFORE.search(match.string, max(0, match.start() - 32), match.start()):
            return None
        end = self.postcode_end(match.string, match.end())
        if end is None or (
            match["named"] and self.NOUN.match(match.string, end) and not introduced(match.string, match.start())
        ):
            return None
        return self.opening(match.string, match.start(), floor), end

    def judge_told(self, match: re.Match[str], floor: int) -> Span | None:
        """Return the span of an address that is called one."""
        if self.NO_NAME.match(match["street"]):
            return None
        end, firm = self.closing(match.string, match.end())
        return None if self.NOUN.match(match.string, match.end()) and not firm else (match.start("street"), end)

    def whole(self, text: str, end: int) -> int:
        """Return where the address with its unit before `end` is over: after a place at the end of the line, too."""
        end, _ = self.closing(text, end)
        place = self.END_OF_LINE.match(text, end)
        return self.closing(text, place.end())[0] if place else end

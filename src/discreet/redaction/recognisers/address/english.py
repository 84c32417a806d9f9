"""Addresses as written in English: number, name, type of street; post boxes; military mail."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.recognisers.address.grammar import BREAK, DIGIT, AddressGrammar, without_ideographs, words
from discreet.redaction.recognisers.address.western import (
    AFTER_LAST,
    CITY,
    FIRM,
    LOOSE,
    SMALL_PLACES,
    STATE,
    UNIT,
    WORD,
    ZIP,
    introduced,
)
from discreet.redaction.view import Span, View

PLAIN_TYPES = words(
    "street st str avenue ave av road rd boulevard blvd lane ln drive dr court ct terrace ter place pl circle cir way highway"
    " hwy parkway pkwy crescent cres cr close mews gardens gdns esplanade esp parade pde expressway expy freeway fwy turnpike"
    " tpke causeway cswy trail trl alley aly row wynd"
)
"""Types of street that are rarely anything else."""

OTHER_TYPES = words(
    "anex annex arcade bayou beach bend bluff bluffs bottom branch bridge brook brooks burg burgs bypass byp camp canyon cape"
    " center centre ctr centers circles cliff cliffs club common commons corner corners course courts cove cv coves creek"
    " crest crossing xing crossroad curve dale dam divide drives estate estates extension ext extensions fall falls ferry"
    " field fields flat flats ford fords forest forge forges fork forks fort garden gateway glen glens green greens grove"
    " groves harbor harbour harbors haven heights hts hill hills hollow inlet island islands isle junction jct junctions key"
    " keys knoll knolls lake lakes landing light lights loaf lock locks lodge loop manor manors meadow meadows mill mills"
    " mission motorway mount mountain mountains neck orchard oval overpass park parks parkways pass passage path pike pine"
    " pines plain plains plaza plz point points port ports prairie quay radial ramp ranch rapid rapids rest ridge ridges river"
    " roads route rue run shoal shoals shore shores skyway spring springs spur spurs square sq squares stravenue stream"
    " streets summit throughway trace track trafficway tunnel underpass union unions valley valleys via viaduct view views"
    " village villages ville vista walk walks wall ways well wells strand broadway yard yards wharf rise chase drove gate"
    " end vale circuit cct promenade"
)
"""The other suffixes of USPS Publication 28 (appendix C1) and those of Royal Mail and Australia Post."""

DIRECTIONS = words("n s e w ne nw se sw north south east west northeast northwest southeast southwest")

_NUMBER = (
    r"(?<![\w.$€£%+/-])(?<![0-9][,:])(?P<number>(?:[0-9]{1,4}[A-Za-z]?/)?[0-9]{1,6}(?:-[0-9]{1,4})?[A-Za-z]?(?: 1/2)?)"
)
_PART = rf"(?:{WORD}\.?|[0-9]{{1,3}}(?:st|nd|rd|th)|(?:of|the|de|la|del|el|and) )"


class EnglishAddressRecogniser(AddressGrammar):
    """Finds street addresses of the United States, Canada, the United Kingdom, Australia and those written like them.

    A type of street that is an ordinary word, too ("Park", "Village"), needs a place after it, an introduction before it
    or a number of three digits.
    """

    STREET = re.compile(rf"{_NUMBER}(?P<words>(?:,? {_PART}){{2,7}})")
    SMALL = re.compile(
        rf"{_NUMBER}(?P<words>(?: (?!(?:a|the|down|of|from|on|in|into|along|to|my|your|our|their|his|her|this|that|and|or|at|"
        r"minutes?|min|miles?|blocks?|km|cars?|people|houses?|more|different|times|other|new|busy|best|days?|hours?)[ ])"
        r"(?:[^\W\d_][\w'.\u2019-]{0,19}+|[0-9]{1,3}(?:st|nd|rd|th))){1,4}? "
        r"(?:street|st|avenue|ave|road|rd|boulevard|blvd|lane|ln|drive|court|ct|terrace|place|circle|parkway|highway|crescent))"
        r"(?![\w-])\.?",
        re.IGNORECASE,
    )
    NUMBERED = re.compile(
        rf"{_NUMBER}(?P<words> (?:(?:[NSEW]|North|South|East|West|US|U\.S\.|State|County|Old) ){{0,2}}"
        r"(?:Highway|Hwy|Route|Rte|Road|FM|CR|SR|Rural Route|Avenue|Ave) (?:[0-9]{1,4}|[A-Z])(?:[NSEW]|[ ][NSEW])?)(?![\w-])"
    )
    BROADWAY = re.compile(
        rf"{_NUMBER}(?P<words> (?:(?:[NSEW]|North|South|East|West)\.? )?Broadway)(?! [A-Za-z]{{1,20}}s(?![a-z]))(?!\w)"
    )
    BOX = re.compile(
        r"(?<!\w)(?:[0-9]{1,6} )?(?:(?:G\.?)?P\.? ?O\.? ?Box|Post Office Box|Locked Bag|Private Bag|Rural Route|R\.?R\.? ?[0-9]{1,3},? Box|HC ?[0-9]{1,3},? Box)"
        r" ?#? ?[A-Z]?[0-9]{1,6}(?![\w-])",
        re.IGNORECASE,
    )
    MILITARY = re.compile(
        rf"(?<!\w)(?:(?:PSC|Unit|CMR) ?[0-9]{{1,5}}[, ]{{1,2}}Box [0-9]{{1,5}}|(?:USNS|USNV|USS|USCGC) {WORD}(?: {WORD})?)"
        r"[, ]{0,2}(?:\r?\n[ >?]{0,8})?[, ]{0,2}(?:[AFD]PO) (?:A[AEP],? )?[0-9]{5}(?:-[0-9]{4})?(?!\w)",
        re.IGNORECASE,
    )
    PLACE = re.compile(
        rf"(?<![\w-]){CITY}(?:, ?{STATE},? {ZIP}|,? [A-Z]{{1,2}}[0-9][0-9A-Z]? [0-9][A-Z]{{2}})(?![\w-])"
    )
    """City, state and ZIP code without a street, as where lines were cut."""

    FIRM, LOOSE, AFTER_LAST, SMALL_PLACES = FIRM, LOOSE, AFTER_LAST, SMALL_PLACES
    BEFORE = re.compile(
        rf"(?<![\w-])(?:(?:{UNIT}|(?i:unit|flat|apt\.?|no\.?|lot|shop|villa)|(?<![\w.,#])[0-9]{{1,6}}|{WORD}(?: {WORD}){{0,2}} (?:House|Court|Building|Tower|Apartments|Lodge|Cottage|Hall),)"
        rf"(?:,? |,?{BREAK}|, ?)){{1,2}}\Z"
    )
    REACH = 36

    LINE = re.compile(r"(?:\A|[\n|>]) {0,3}\Z")

    OTHERWISE = re.compile(
        r"(?:(?<!\w)(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]{0,6}\.?|(?<![A-Za-z])(?:the|top|in|since|by|until|year|of|around|only|all|these|those|about|season|version)) \Z",
        re.IGNORECASE,
    )
    """Words after which the number is a date, a year or an amount."""

    AFTERWARDS = re.compile(
        r"(?: (?!(?:and|or|in|is|was|for|by|near|since|with|because|but|to|on|at|last|please|from|until|if|so|where|when|which|as|"
        r"it|this|that|next|the|before|after|around|tomorrow|today|tonight|yesterday|street|apt|suite|unit|ok|thanks|then|are|a|"
        r"should|will|has|had|can|who|not|now|just|right|over|between|across|behind|off|via|instead|every|while|would|there|"
        r"if|my|we|he|she|they|you|i|also|nha|nhé|được)(?!\w))[a-z]{2,20})"
    )
    """A noun that the name belongs to: "10 Wall Street firms"."""

    NAME_BEFORE = re.compile(rf"{WORD} \Z")
    ANOTHER_NAME = re.compile(rf" (?!I ){WORD}")
    MONTH = re.compile(
        "(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec) "
    )

    NO_STREET = re.compile(
        r"(?:High|Supreme|District|Federal|Crown|Food|Tennis|Appeals?|Basketball|County|Family) Courts?\Z"
        r"|(?:Disk|Hard|Flash|Test|Burger King) Drives?\Z|(?:Same|Right|One|Only|No|Half) Way\Z",
        re.IGNORECASE,
    )

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses, from the unit or number to the country."""
        text = view.derived(without_ideographs)
        if not DIGIT.search(text):
            return
        lowered = view.lowered
        yield from self.each(self.STREET, text, self.judge)
        yield from self.each(self.NUMBERED, text, self.judge)
        if "broadway" in lowered:
            yield from self.each(self.BROADWAY, text, self.judge)
        yield from self.each(self.SMALL, text, self.judge_small)
        if any(hint in lowered for hint in ("box", "bag", "apo", "fpo", "dpo")):
            yield from self.each(self.BOX, text, self.follow)
            yield from self.each(self.MILITARY, text, self.follow)
        yield from (match.span() for match in self.PLACE.finditer(text))

    def follow(self, match: re.Match[str]) -> Span:
        """Return the span from a core that needs no other evidence to the last part after it."""
        return match.start(), self.closing(match.string, match.end())[0]

    def judge_small(self, match: re.Match[str]) -> Span | None:
        """Return the span of an address in small letters: with further parts, introduced, or on a line of its own."""
        text, start = match.string, match.start()
        if self.NO_STREET.search(match[0]) or self.AFTERWARDS.match(text, match.end()):
            return None
        end, firm = self.closing(text, match.end())
        if not (firm or introduced(text, start) or self.LINE.search(text, max(0, start - 4), start)):
            return None
        return self.opening(text, start), self.small_end(match, end)

    def street_end(self, match: re.Match[str]) -> int | None:
        """Return where the type of street ends, if one of the words is one."""
        place = match.start("words")
        end: int | None = None
        for index, word in enumerate(match["words"].split(" ")[1:]):
            bare = word.rstrip(".,").lower()
            typed = bare in PLAIN_TYPES or bare in OTHER_TYPES or (end is not None and bare in DIRECTIONS)
            place += 1 + len(word)
            if index and typed:
                end = place - word.endswith(",")
            elif end is not None:
                break
            if end is not None and word.endswith((",", ".")):
                break
        return end

    def judge(self, match: re.Match[str]) -> Span | None:
        """Return the span of the whole address, or None where number and name are something else."""
        text, start = match.string, match.start()
        end = self.street_end(match) if match.re is self.STREET else match.end()
        if end is None or self.NO_STREET.search(text[match.start("words") : end]):
            return None
        opening = self.opening(text, start)
        closing, firm = self.closing(text, end)
        if firm or introduced(text, start) or introduced(text, opening):
            return opening, closing
        name = text[match.start("words") + 1 : end]
        counted = (
            self.MONTH.match(name)
            or self.ANOTHER_NAME.match(text, end)
            or self.AFTERWARDS.match(text, end)
            or self.OTHERWISE.search(text, max(0, start - 12), start)
        )
        return None if counted or not (closing > end or self.alone(match, name)) else (opening, closing)

    def alone(self, match: re.Match[str], name: str) -> bool:
        """Tell whether number and street are an address without anything beside them."""
        number, before = match["number"], match.string[max(0, match.start() - 32) : match.start()]
        if len(number) == 4 and number.startswith(("19", "20")):  # noqa: PLR2004 - a year
            return False
        plain = any(word.rstrip(".").lower() in PLAIN_TYPES for word in name.split(" ")[1:])
        return plain or (len(number) > 2 and not self.NAME_BEFORE.search(before))  # noqa: PLR2004 - as the class says

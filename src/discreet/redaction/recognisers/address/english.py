"""Addresses as written in English: number, name, type of street; post boxes; military mail."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.address.city import city_behind
from discreet.redaction.recognisers.address.grammar import (
    BREAK,
    DIGIT,
    AddressGrammar,
    Core,
    without_ideographs,
    word_before,
)
from discreet.redaction.recognisers.address.street_types import (
    DIRECTIONS,
    NO_NAMES,
    NO_STREETS,
    OTHER_TYPES,
    PLAIN_TYPES,
    ROADS,
    SMALL_TYPES,
    SMALL_WORDS,
)
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
    mentions_address,
)
from discreet.redaction.word_set import word_set

_NUMBER = (
    r"(?<![\w.$€£%+/-])(?<![0-9][,:])(?P<number>(?:[0-9]{1,4}[A-Za-z]?/)?[0-9]{1,6}(?:-[0-9]{1,4})?[A-Za-z]?(?: 1/2)?)"
)
_PART = rf"(?:{WORD}\.?|[0-9]{{1,3}}(?:st|nd|rd|th)|(?:of|the|de|la|del|el|and) )"


class EnglishAddressRecogniser(AddressGrammar):
    """Finds street addresses of the United States, Canada, the United Kingdom, Australia and those written like them.

    A type of street that is an ordinary word, too ("Park", "Village"), needs a place after it, an introduction before it
    or a number of three digits.
    """

    STREET = lazy(rf"{_NUMBER}(?P<words>(?:,? {_PART}){{2,7}})")
    SMALL = lazy(
        rf"{_NUMBER}(?P<words>(?: (?!{NO_NAMES}[ ])(?:[^\W\d_][\w'.\u2019-]{{0,19}}+|[0-9]{{1,3}}(?:st|nd|rd|th))){{1,4}}? {SMALL_TYPES})"
        r"(?![\w-])\.?",
        re.IGNORECASE,
    )
    NUMBERED = lazy(
        rf"{_NUMBER}(?P<words> (?:(?:[NSEW]|North|South|East|West|US|U\.S\.|State|County|Old) ){{0,2}}"
        r"(?:Highway|Hwy|Route|Rte|Road|FM|CR|SR|Rural Route|Avenue|Ave) (?:[0-9]{1,4}|[A-Z])(?:[NSEW]|[ ][NSEW])?)(?![\w-])"
    )
    BROADWAY = lazy(
        rf"{_NUMBER}(?P<words> (?:(?:[NSEW]|North|South|East|West)\.? )?Broadway)(?! [A-Za-z]{{1,20}}s(?![a-z]))(?!\w)"
    )
    BOX = lazy(
        r"(?<!\w)(?:[0-9]{1,6} )?(?:(?:G\.?)?P\.? ?O\.? ?Box|Post Office Box|Locked Bag|Private Bag|Rural Route"
        r"|R\.?R\.? ?[0-9]{1,3},? Box|HC ?[0-9]{1,3},? Box)"
        r" ?#? ?[A-Z]?[0-9]{1,6}(?![\w-])",
        re.IGNORECASE,
    )
    MILITARY = lazy(
        rf"(?<!\w)(?:(?:PSC|Unit|CMR) ?[0-9]{{1,5}}[, ]{{1,2}}Box [0-9]{{1,5}}|(?:USNS|USNV|USS|USCGC) {WORD}(?: {WORD})?)"
        r"[, ]{0,2}(?:\r?\n[ >?]{0,8})?[, ]{0,2}(?:[AFD]PO) (?:A[AEP],? )?[0-9]{5}(?:-[0-9]{4})?(?!\w)",
        re.IGNORECASE,
    )
    PLACE = lazy(rf"(?<![\w-]){CITY}(?:, ?{STATE},? {ZIP}|,? [A-Z]{{1,2}}[0-9][0-9A-Z]? [0-9][A-Z]{{2}})(?![\w-])")
    """City, state and ZIP code without a street, as where lines were cut."""
    POSTCODE = lazy("[0-9]{5}|[0-9][A-Z]{2}")

    FIRM, LOOSE, AFTER_LAST, SMALL_PLACES = FIRM, LOOSE, AFTER_LAST, SMALL_PLACES
    BEFORE = lazy(
        rf"(?<![\w-])(?:(?:{UNIT}|(?i:unit|flat|apt\.?|no\.?|lot|shop|villa)|(?<![\w.,#])[0-9]{{1,6}}"
        rf"|{WORD}(?: {WORD}){{0,2}} (?:House|Court|Building|Tower|Apartments|Lodge|Cottage|Hall),)"
        rf"(?:,? |,?{BREAK}|, ?)){{1,2}}\Z"
    )
    REACH = 36
    LEADING = lazy(
        r"[0-9#<>\\?*|]|(?<![^,])[A-Za-z][,.]?\Z|(?i:unit|flat|apt|no|lot|shop|villa|floor|fl)[.,]{0,2}\Z"
        r"|(?:House|Court|Building|Tower|Apartments|Lodge|Cottage|Hall),\Z|étage"
    )
    """In the last word of all that `BEFORE` finds."""

    LINE = lazy(r"(?:\A|[\n|>]) {0,3}\Z")

    AT = lazy(r"(?<![a-z])(?:at|outside|to) \Z")

    OTHERWISE = lazy(
        r"(?:(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?"
        r"|the|top|in|since|by|until|year|of|around|only|all|these|those|about|season|version)\Z"
    )
    """Words after which the number is a date, a year or an amount."""

    AFTERWARDS = lazy(
        r"(?: (?!(?:and|or|in|is|was|for|by|near|since|with|because|but|to|on|at|last|please|from|until|if|so|where|when|which|as|"
        r"it|this|that|next|the|before|after|around|tomorrow|today|tonight|yesterday|street|apt|suite|unit|ok|thanks|then|are|a|"
        r"should|will|has|had|can|who|not|now|just|right|over|between|across|behind|off|via|instead|every|while|would|there|"
        r"if|my|we|he|she|they|you|i|also|nha|nhé|được)(?!\w))[a-z]{2,20})"
    )
    """A noun that the name belongs to: "10 Wall Street firms"."""

    NAME_BEFORE = lazy(rf"{WORD} \Z")
    ANOTHER_NAME = lazy(rf" (?!I ){WORD}")
    MONTH = lazy(
        "(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec) "
    )

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses, from the unit or number to the country."""
        text = view.derived(without_ideographs)
        if not DIGIT.search(text):
            return
        lowered, found = view.lowered, view.derived(word_set)
        cores: list[Core] = []
        if not found.isdisjoint(ROADS):
            cores.append((self.NUMBERED, self.judge))
        if not (found.isdisjoint(PLAIN_TYPES) and found.isdisjoint(OTHER_TYPES)):
            cores.append((self.STREET, self.judge))
        if "broadway" in lowered:
            cores.append((self.BROADWAY, self.judge))
        if not found.isdisjoint(SMALL_WORDS):
            cores.append((self.SMALL, self.judge_small))
        if any(hint in lowered for hint in ("box", "bag", "apo", "fpo", "dpo")):
            cores += (self.BOX, self.follow), (self.MILITARY, self.follow)
        if self.POSTCODE.search(text):
            cores.append((self.PLACE, self.whole))
        yield from self.each(text, *cores)

    def follow(self, match: re.Match[str], floor: int) -> Span:
        """Return the span from a core that needs no other evidence to the last part after it."""
        return match.start(), self.closing(match.string, match.end())[0]

    def whole(self, match: re.Match[str], floor: int) -> Span:
        """Return the span of a core that is an address by itself."""
        return match.span()

    def judge_small(self, match: re.Match[str], floor: int) -> Span | None:
        """Return the span of an address in small letters: with further parts, introduced, or on a line of its own."""
        text, start = match.string, match.start()
        city = city_behind(text, match.end())
        if self.no_street(match[0]) or (city is None and self.AFTERWARDS.match(text, match.end())):
            return None
        end, firm = self.closing(text, city or match.end())
        if not (
            firm
            or city
            or introduced(text, start)
            or self.AT.search(text, max(0, start - 9), start)
            or self.LINE.search(text, max(0, start - 4), start)
        ):
            return None
        return self.opening(text, start, floor), self.small_end(match, end)

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

    def judge(self, match: re.Match[str], floor: int) -> Span | None:
        """Return the span of the whole address, or None where number and name are something else."""
        text, start = match.string, match.start()
        end = self.street_end(match) if match.re == self.STREET else match.end()
        if end is None or self.no_street(text[match.start("words") : end]):
            return None
        closing, firm = self.closing(text, end)
        believed = (
            firm
            or (self.AT.search(text, max(0, start - 9), start) and not self.counted(match, end))
            or ((closing > end or self.alone(match, end)) and not self.counted(match, end))
        )
        if believed or introduced(text, start):
            return self.opening(text, start, floor), closing
        if not mentions_address(text[max(0, start - self.REACH - 50) : start]):
            return None
        opening = self.opening(text, start, floor)
        return (opening, closing) if introduced(text, opening) else None

    def counted(self, match: re.Match[str], end: int) -> bool:
        """Tell whether the number is a date, or counts what the name that ends at `end` is part of."""
        return bool(
            self.MONTH.match(match["words"], 1)
            or self.ANOTHER_NAME.match(match.string, end)
            or self.AFTERWARDS.match(match.string, end)
            or self.OTHERWISE.match(word_before(match.string, match.start()))
        )

    def opening(self, text: str, start: int, floor: int) -> int:
        """Return where the address begins; looks closely only if the word before can belong to it."""
        before = text[max(floor, start - 14) : start].split()
        return super().opening(text, start, floor) if before and self.LEADING.search(before[-1]) else start

    def no_street(self, name: str) -> bool:
        """Tell whether `name` only ends like one of a street."""
        return " ".join(name.lower().rsplit(" ", 2)[-2:]) in NO_STREETS

    def alone(self, match: re.Match[str], end: int) -> bool:
        """Tell whether number and street are an address without anything beside them."""
        number = match["number"]
        if len(number) == 4 and number.startswith(("19", "20")):  # a year
            return False
        name = match.string[match.start("words") + 1 : end].lower().replace(".", "").split(" ")
        if not PLAIN_TYPES.isdisjoint(name[1:]):
            return True
        before = match.string[max(0, match.start() - 32) : match.start()]
        return len(number) > 2 and not self.NAME_BEFORE.search(before)

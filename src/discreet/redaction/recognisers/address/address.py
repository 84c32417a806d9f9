"""Postal addresses, by all grammars, and what goes on where one of them ends."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from discreet.redaction.findings import united
from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.address.chinese import ChineseAddressRecogniser
from discreet.redaction.recognisers.address.city import city_behind, word_before
from discreet.redaction.recognisers.address.east_asian import EastAsianAddressRecogniser
from discreet.redaction.recognisers.address.english import EnglishAddressRecogniser
from discreet.redaction.recognisers.address.european import EuropeanAddressRecogniser
from discreet.redaction.recognisers.address.grammar import DIGIT, AddressGrammar
from discreet.redaction.recognisers.address.part import Part
from discreet.redaction.recognisers.address.parts import POSTCODE, SIDE, PartsAddressRecogniser, end_of, is_beside
from discreet.redaction.recognisers.address.russian import RussianAddressRecogniser
from discreet.redaction.recognisers.address.vietnamese import VietnameseAddressRecogniser
from discreet.redaction.recognisers.address.village import VillageAddressRecogniser
from discreet.redaction.recognisers.address.worldwide import WorldwideAddressRecogniser
from discreet.redaction.words import words

MOST_PARTS = 6
"""Parts that may follow what a grammar takes for the end."""
INSIDE = frozenset(("flat", "floor", "entrance", "building"))
POSTCODE_BEFORE = lazy(r"〒 ?[0-9]{3}-?[0-9]{4}[ \n]?\Z")
TOWN_BEFORE = lazy(r"(?<!\w)(?:г\. ?)?[А-ЯЁ][а-яё]{2,20}(?:-[А-Яа-яё]{2,20}){0,2}, \Z")
HALF_A_NAME = lazy(r"(?<!\w)[^\W\d_]{2,20}-\Z")
VILLAGE_BEFORE = lazy(
    r"(?:[А-ЯЁ][а-яё-]{2,24} (?:обл(?:асть|\.)?|край|р-н|район),? ){0,3}(?<!\w)(?:д|дер|с|пос|пгт|г|х|ст)\. ?\Z"
)
BUILDINGS = tuple(word for word in words("address", "building") if len(word) > len("casa"))
CITIES = words("address", "city")
BEFORE = (
    ("-", HALF_A_NAME),
    ("0123456789", POSTCODE_BEFORE),
    (".", VILLAGE_BEFORE),
)
"""What may stand before an address, each with the signs that it ends with."""
STREET = lazy(r"(?:ул|пр|пер|бул|шос|наб|пл|мкр)[а-я]{0,8}[. ]")
"""With which a Russian address goes on behind its town."""
BEHIND = lazy(
    rf"(?<=[0-9])(?:-[IVX]{{1,4}}|-[A-Z]|/[A-Za-z]|-[0-9]{{1,3}}(?: hoog)?)(?![\w-])|(?:{SIDE})(?![^\W\d_])|[\s,–-]{{1,4}}{POSTCODE}(?: [^\W\d_]{{3,30}})?"
    r"|,? (?:km|км) ?[0-9]{1,3}(?![0-9])|[ ,]{1,2}[a-z]{1,2}[0-9][0-9a-z]? [0-9][a-z]{2}(?![0-9A-Za-z_])"
)
"""On which side a flat is, or a postcode."""


class AddressRecogniser:
    """Unites what the grammars find, and follows floors, flats and postcodes behind it, whatever grammar knows them."""

    type = "ADDRESS"

    def __init__(self) -> None:
        self._parts = PartsAddressRecogniser()
        self._grammars: tuple[AddressGrammar | PartsAddressRecogniser | VillageAddressRecogniser, ...] = (
            EnglishAddressRecogniser(),
            EuropeanAddressRecogniser(),
            WorldwideAddressRecogniser(),
            VietnameseAddressRecogniser(),
            RussianAddressRecogniser(),
            ChineseAddressRecogniser(),
            EastAsianAddressRecogniser(),
            VillageAddressRecogniser(),
            self._parts,
        )

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        digit = DIGIT.search(view.text) is not None
        found = [span for each in self._grammars if digit or not each.LEAST_DIGITS for span in each.spans(view)]
        if not found:
            return
        parts = list(self._parts.parts(view)) if digit else []
        starts = [part.start for part in parts]
        for start, end in united(found):
            yield preceded(view.text, start), followed(view.text, end, parts, starts)


def preceded(text: str, start: int) -> int:
    """Return where an address begins that has a postcode, a town, a district or the word for a building before `start`."""
    first = max(0, start - 80)
    for signs, pattern in BEFORE:
        if last_sign(text, start) in signs and (before := pattern.search(text, first, start)):
            start = before.start()
    if last_sign(text, start).isalpha() and (building := word_before(text, start, BUILDINGS)) is not None:
        start = building
    if last_sign(text, start) == "," and (city := word_before(text, start, CITIES)) is not None:
        start = city
    if STREET.match(text, start) and (before := TOWN_BEFORE.search(text, max(0, start - 40), start)):
        start = before.start()
    return start


def last_sign(text: str, start: int) -> str:
    """Return the sign or letter before `start`, a blank apart; a line break if there is none."""
    return text[max(0, start - 2) : start].rstrip()[-1:] or "\n"


def followed(text: str, end: int, parts: list[Part], starts: list[int]) -> int:
    """Return where an address ends that goes on behind `end` with parts of a building, a side, a postcode or a city.

    `starts` has where the `parts` begin.
    """
    for _ in range(MOST_PARTS):
        if following := part_behind(text, end, parts, starts):
            end = end_of(text, following.end, following.kind)
        elif behind := BEHIND.match(text, end):
            end = behind.end()
        elif city := city_behind(text, end):
            end = city
        else:
            break
    return end


def part_behind(text: str, end: int, parts: list[Part], starts: list[int]) -> Part | None:
    """Return the part of an address that reaches over `end`, or goes on there within a building."""
    place = bisect_right(starts, end)
    for part in parts[max(0, place - 1) : place + 1]:
        within = part.start < end < part.end
        beside = part.start >= end and part.kind in INSIDE and is_beside(text, Part(end, end, "street", 0), part)
        if (within or beside) and (part.kind in ("building", "floor") or DIGIT.search(text, part.start, part.end)):
            return part
    return None

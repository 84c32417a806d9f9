"""Numbers that may be codes, and what a model weighs of them."""

from __future__ import annotations

import re

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.context import OTHER_NUMBERS, Leads
from discreet.redaction.recognisers.told.code import UNIT
from discreet.redaction.recognisers.told.programs import is_log, is_program
from discreet.redaction.recognisers.told.surroundings import (
    AROUND,
    MONEY,
    PAIRED,
    around,
    count_near,
    is_near,
    together,
)
from discreet.redaction.recognisers.told.values import FAMOUS, NAMED_THING
from discreet.redaction.word_set import small

TELLING = ("password", "login", "opens", "once", "pin", "plain", "lock", "press", "sent", "context", "answer")
"""Kinds of words of which one stands near every code."""
FOREIGN = False
"""Whether one may be told without a word near it, where it is foreign to its text."""
MOST_NEAR = 15
"""Where more stand around one, they are a table."""
MOST_IN_A_SENTENCE = 3
SENT_DIGITS = 6
"""Digits of most codes that are sent."""
MORE_DIGITS = (5, 7, 8)
NUMBER = lazy(
    r"(?<![0-9A-Za-z_.,/:#$€£¥₫₽+@%~-])(?<![0-9][ )\n])(?<![0-9]\)[ \n])(?:[0-9]{3}[ -][0-9]{3}|[0-9]{3,8}"
    r"|(?=[A-Z]{0,7}[0-9])(?=[0-9]{0,7}[A-Z])[A-Z0-9]{5,8}|[A-Z0-9]{4,5}-[A-Z0-9]{4,5})"
    r"(?![0-9A-Za-z_@]|[.,:/-][0-9A-Za-z.]|[ -][0-9]| ?%)"
)
DIGIT = lazy("[0-9]")
YEAR = lazy(r"(?:19|20)[0-9]{2}")
YEARS = lazy(r"1[0-9]{3}|20[0-9]{2}")
TO_YEAR = lazy(r"(?:19|20)[0-9]{2}-(?:19|20)[0-9]{2}")
OF_YEAR = lazy(
    r"(?:^|[\s(«“\"])(?:in|from|since|until|till|by|of|year|circa|năm|từ|в|с|до|года?|im|jahr|seit|en|desde|año"
    r"|depuis|ano|em|nel|dal|anno|del|w|rok|roku|yılı|tahun|sejak|pada|anno|het|jaar|fin|để|uit|из|sinds"
    r"|ab|z|par|nga|del año|den|dari|edisi|edición|versão|wersja|dla)[ ]\Z|[年公西元]\Z",
    re.IGNORECASE,
)
"""What stands before a year."""
YEAR_BEHIND = lazy(r"[ ]?(?:год|г\.|yıl|roku|년|年)", re.IGNORECASE)
FORMULA = lazy("(?:(?:[CHNOSPKFI]|Na|Cl|Ca|Mg|Fe|Cu|Zn|Al|Mn|Ag|Ba|Br|Si)[0-9]{0,2}){2,8}")
"""Of chemistry."""
EMERGENCY = frozenset(
    ("101", "102", "103", "104", "105", "110", "111", "112", "113", "114", "115", "119", "120", "122", "911", "999")
)
"""Numbers that everybody calls."""
SUM = lazy(r"[0-9*×x+/^(),. -]{3,40}= ?\Z")
"""What stands before its result."""
COUNTED_OUT = lazy(
    r"GB/?T ?\Z|(?<![A-Za-z])(?:ISO|DIN|IEC|EN|ГОСТ|JIS|TCVN|HTTP|RFC|GB)[ /-]\Z|[要卖賣售价價]\Z"
    r"|(?<![A-Za-z])(?:[Ff]lat|[Aa]partment|[Rr]oom|[Hh]ouse|[Bb]us|[Tt]ram|квартир[аыеу]|кв\.|комнат[аеы]"
    r"|phòng|căn hộ|Wohnung|Zimmer|chambre|appartement|habitación) \Z"
)
"""What stands before a price, or the number of a standard, of a flat or of a bus."""
POWERS = frozenset(str(2**power) for power in range(7, 25))
"""Sizes of what computers count."""
FIGURES = (
    *AROUND,
    *(f"{kind} and {shape}" for shape in ("few digits", "6 digits", "more digits", "letters") for kind in PAIRED),
    "3 digits",
    "4 digits",
    "5 digits",
    "6 digits",
    "7 or 8 digits",
    "in halves",
    "letters",
    "begins with 0",
    "year",
    "round",
    "many numbers",
)
"""What `figures` are."""


def candidates(view: View) -> list[Span]:
    """Return where numbers stand that nothing tells to be something else."""
    if not DIGIT.search(view.text) and "-" not in view.text:
        return []
    leads = view.derived(Leads)
    return [
        match.span()
        for match in NUMBER.finditer(view.text)
        if not is_known(view, match)
        and not leads.before(match.start()).has(OTHER_NUMBERS)
        and not is_log(view.text, *match.span())
        and not is_program(view.text, *match.span())
    ]


def is_told(view: View, span: Span) -> bool:
    """Tell whether a word stands near without which no number is a code."""
    return is_near(view, span, TELLING)


def is_known(view: View, match: re.Match[str]) -> bool:
    """Tell whether a number is a year, an amount, or one that everybody knows."""
    number, lowered, end = match[0], view.derived(small), match.end()
    if (
        FORMULA.fullmatch(number)
        or FAMOUS.fullmatch(number)
        or NAMED_THING.fullmatch(number)
        or number in POWERS
        or TO_YEAR.fullmatch(number)
    ):
        return True
    if number in EMERGENCY or UNIT.match(lowered, end) or MONEY.match(lowered, end):
        return True
    start = match.start()
    if "=" in view.text[max(0, start - 2) : start] and SUM.search(view.text, max(0, start - 42), start):
        return True
    if COUNTED_OUT.search(view.text, max(0, start - 16), start):
        return True
    if not YEARS.fullmatch(number):
        return False
    before = OF_YEAR.search(view.text, max(0, match.start() - 10), match.start())
    return bool(before or YEAR_BEHIND.match(lowered, end))


def figures(view: View, span: Span, found: list[Span]) -> list[float]:
    """Return all figures of a number, one of those that were `found` in its text."""
    value = view.text[slice(*span)]
    digits = sum(map(str.isdigit, value))
    halves = value[3:4] in (" ", "-")
    near = around(view, span)
    return [
        *near,
        *together(
            near,
            [
                float(digits < min(MORE_DIGITS)),
                float(digits == SENT_DIGITS or halves),
                float(digits in MORE_DIGITS),
                float(not value.replace(" ", "").replace("-", "").isdigit()),
            ],
        ),
        *(float(digits == size and not halves) for size in (3, 4, 5, 6)),
        float(digits > SENT_DIGITS and not halves),
        float(halves),
        float(not value.replace(" ", "").replace("-", "").isdigit()),
        float(value.startswith("0")),
        float(YEAR.fullmatch(value) is not None),
        float(value.endswith("00")),
        float(count_near(span, found) > MOST_IN_A_SENTENCE),
    ]

"""Codes and passwords that no form of sentence announces, by all that stands around them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from itertools import islice
from math import log
from typing import NamedTuple

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.recognisers.context import OTHER_NUMBERS, Leads
from discreet.redaction.recognisers.told.code import UNIT
from discreet.redaction.recognisers.told.near import OF_USER, PASSWORD, is_password
from discreet.redaction.recognisers.told.password import STANDS_OUT
from discreet.redaction.recognisers.told.programs import is_log, is_program
from discreet.redaction.recognisers.told.surroundings import CLASSES, MONEY, NAMES, around
from discreet.redaction.recognisers.told.values import BRAND, FAMOUS, NAMED_THING, TOOLS, names_a_value
from discreet.redaction.view import Span, View
from discreet.redaction.word_index import index
from discreet.redaction.word_set import small, word_set
from discreet.redaction.words import languages, words

SENT_DIGITS = 6
"""Digits of most codes that are sent."""
MORE_DIGITS = (5, 7, 8)
MOST_FOREIGN = 12
MOST_CANDIDATES = 200
"""A text with more of them is a table, or made to take long."""

NUMBER = lazy(
    r"(?<![0-9A-Za-z_.,/:#$€£¥₫₽+@%~-])(?<![0-9][ )\n])(?<![0-9]\)[ \n])(?:[0-9]{3}[ -][0-9]{3}|[0-9]{3,8}"
    r"|(?=[A-Z]{0,7}[0-9])(?=[0-9]{0,7}[A-Z])[A-Z0-9]{5,8}|[A-Z0-9]{4,5}-[A-Z0-9]{4,5})"
    r"(?![0-9A-Za-z_@]|[.,:/-][0-9A-Za-z]|[ -][0-9]| ?%)"
)
YEAR = lazy(r"(?:19|20)[0-9]{2}")
YEARS = lazy(r"1[0-9]{3}|20[0-9]{2}")
OF_YEAR = lazy(
    r"(?:^|[\s(«“\"])(?:in|from|since|until|till|by|of|year|circa|năm|từ|в|с|до|года?|im|jahr|seit|en|desde|año"
    r"|depuis|ano|em|nel|dal|anno|del|w|rok|roku|yılı|tahun|sejak|pada|anno|het|jaar|fin|để|uit|из|sinds|ab|z|par|nga|del año|den|dari|edisi|edición|versão|wersja|dla)[ ]\Z|[年公西元]\Z",
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
COUNTED_OUT = lazy(
    r"[0-9*×x+/^(),. -]{3,40}= ?\Z|GB/?T ?\Z|(?<![A-Za-z])(?:ISO|DIN|IEC|EN|ГОСТ|JIS|TCVN|HTTP|RFC|GB)[ /-]\Z"
)
"""What stands before the result of a sum, or before the number of a standard."""
POWERS = frozenset(str(2**power) for power in range(7, 25))
"""Sizes of what computers count."""
TOKEN = lazy(
    r"(?<![!-~])[\"'`(«“„]{0,2}(?P<value>[!#-&*+.0-9A-Za-z~^_-][!-~]{5,47}?)(?=[\"'`)»”]?[,.;:!?]{0,2}(?:[\s\"'`)»”]"
    r"|[^\x00-\x7f]|\Z))|(?<=[^\x00-\x7f])(?P<glued>[A-Za-z][!#-&*+.0-9A-Z_a-z~^-]{5,47}?)(?=[,.;:!?]{0,2}(?:\s"
    r"|[^\x00-\x7f]|\Z))"
)
PHRASE = lazy("[a-z]+(?:-[a-z]+){2,5}")
FOREIGN = lazy(
    r"(?<![!-~\u00c0-\u024f\u1e00-\u1eff])[\"'`«“「『]?(?P<value>[A-Za-z][a-z]{3,15})(?![\x21\x23-\x26\x2a-\x2b\x2d\x2f-\x3a\x3c-\x7e\u00c0-\u024f\u1e00-\u1eff]|\.[a-z]| ?/)"
)
SYLLABLE = lazy("(?:ngh?|kh|th|tr|ch|ph|gh|gi|qu|nh|[bcdghklmnprstvx])?[aeiouy]{1,3}(?:ng|nh|ch|[cmnpt])?")
"""Vietnamese without marks."""
LATIN_WORD = lazy("[A-Za-z]{2,40}")
DIGITS_AT_END = lazy(r"([0-9]+)[!@#$%&*?]{0,2}\Z")


class Model(NamedTuple):
    """A logistic model: how much each figure speaks for a secret."""

    weights: tuple[float, ...]
    bias: float
    threshold: float

    def score(self, figures: list[float]) -> float:
        """Return the log odds that they are of a secret."""
        return self.bias + sum(weight * figure for weight, figure in zip(self.weights, figures, strict=True))


PAIRED = (
    "password",
    "login",
    "user",
    "opens",
    "once",
    "pin",
    "plain",
    "lock",
    "press",
    "sent",
    "context",
    "other",
    "about",
)
PLACES = tuple(map(list(CLASSES).index, PAIRED))
REACH_OF_ASKING = 80
ASKING = ("password", "login", "opens", "answer")
TELLING = ("password", "login", "opens", "once", "pin", "plain", "lock", "press", "sent", "context", "answer")
NUMBER_NAMES = (
    *NAMES,
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
    "long text",
)
TOKEN_NAMES = (
    *NAMES,
    *(f"{kind} and {shape}" for shape in ("word and number", "phrase") for kind in PAIRED),
    "word and number",
    "phrase",
    "signs",
    "underscore",
    "capital",
    "long number",
    "long text",
    "common",
    "all common",
    "among other letters",
)
FOREIGN_NAMES = (
    *NAMES,
    *(f"{kind} and foreign" for kind in PAIRED),
    "quoted",
    "foreign words",
    "letters",
    "long text",
    "common",
    "common and plain",
    "capital",
)


@cache
def models() -> tuple[Model, Model, Model]:
    """Return the models of numbers, of words and of foreign words, which `benchmarks/told_model.py` fits."""
    data = tomllib.loads((files(__package__) / "likely.toml").read_text("utf-8"))
    return tuple(
        Model(tuple(data[kind]["weights"][name] for name in names), data[kind]["bias"], data[kind]["threshold"])
        for kind, names in (("numbers", NUMBER_NAMES), ("words", TOKEN_NAMES), ("foreign", FOREIGN_NAMES))
    )  # type: ignore[return-value]  # of three


def has_any(view: View, kinds: Iterable[str]) -> bool:
    """Tell whether a text has a word of one of these kinds of `CLASSES`."""
    found = index().found(view)
    return any(f"{table}.{name}" in found for kind in kinds for table, *names in CLASSES[kind] for name in names)


def is_asked(view: View, span: Span) -> bool:
    """Tell whether a word without which no plain word is likely stands near."""
    found = index().found(view)
    return any(
        abs(place.start - span[0]) < REACH_OF_ASKING
        for kind in ASKING
        for table, *names in CLASSES[kind]
        for name in names
        for place in found.get(f"{table}.{name}", ())
    )


def numbers(view: View) -> list[Span]:
    """Return where numbers stand that may be codes; none where there are too many."""
    found = list(islice(NUMBER.finditer(view.text), MOST_CANDIDATES + 1))
    if not 0 < len(found) <= MOST_CANDIDATES:
        return []
    leads = view.derived(Leads)
    return [
        match.span()
        for match in found
        if not is_known(view, match)
        and not leads.before(match.start()).has(OTHER_NUMBERS)
        and not is_log(view.text, *match.span())
        and not is_program(view.text, *match.span())
    ]


def is_known(view: View, match: re.Match[str]) -> bool:
    """Tell whether a number is a year, an amount, or one that everybody knows."""
    number, lowered, end = match[0], view.derived(small), match.end()
    if FORMULA.fullmatch(number) or FAMOUS.fullmatch(number) or NAMED_THING.fullmatch(number) or number in POWERS:
        return True
    if number in EMERGENCY or UNIT.match(lowered, end) or MONEY.match(lowered, end):
        return True
    if COUNTED_OUT.search(view.text, max(0, match.start() - 42), match.start()):
        return True
    if not YEARS.fullmatch(number):
        return False
    before = OF_YEAR.search(view.text, max(0, match.start() - 10), match.start())
    return bool(before or YEAR_BEHIND.match(lowered, end))


def tokens(view: View) -> list[Span]:
    """Return where words stand that have the form of a password; none where there are too many."""
    lowered, text = view.derived(small), view.text
    spans = (match.span(match.lastgroup or 0) for match in TOKEN.finditer(text))
    shaped = list(islice(filter(lambda span: PASSWORD.fullmatch(text, *span), spans), MOST_CANDIDATES + 1))
    if len(shaped) > MOST_CANDIDATES:
        return []
    return [
        (start, end)
        for start, end in shaped
        if is_password(text[start:end])
        and not OF_USER.search(lowered, max(0, start - 40), start)
        and not is_program(text, start, end)
    ]


def foreign(view: View) -> list[Span]:
    """Return where words stand that may be passwords though they have letters only; none where there are many.

    Those are words that many people use, and words of plain small letters in a text of another script, or with marks.
    """
    text = view.text
    used = view.derived(word_set) & common_words()
    others = not text.isascii() and STANDS_OUT.search(text) is not None
    if not used and not others:
        return []
    spans = [match.span("value") for match in FOREIGN.finditer(text)]
    found = [span for span in spans if may_be_password(text[slice(*span)], others=others)]
    return [] if len(found) > MOST_FOREIGN else found


def may_be_password(word: str, *, others: bool) -> bool:
    """Tell whether a word can be a password, rather than what one is for or a word about it."""
    if word.lower() in common_words():
        return names_a_value(word)
    if not others or SYLLABLE.fullmatch(word):
        return False
    return (
        word.islower()
        and word not in TOOLS
        and word not in plain_words()
        and not BRAND.fullmatch(word)
        and names_a_value(word)
    )


@cache
def common_words() -> frozenset[str]:
    """Return the words that many people use for a password."""
    return frozenset(words("secret", "common"))


@cache
def plain_words() -> frozenset[str]:
    """Return the words of plain letters that the languages list."""
    found = (
        re.findall("[a-z]+", word)
        for each in languages()
        for table in each.tables.values()
        for name, entries in table.items()
        if name != "common"
        for word in entries
    )
    return frozenset(word for each in found for word in each)


def together(figures: list[float], shapes: list[float]) -> list[float]:
    """Return for each shape and kind of words how near such words stand to a candidate of that shape."""
    near = [max(figures[4 * place + 1], figures[4 * place + 3]) for place in PLACES]
    return [shape * figure for shape in shapes for figure in near]


def number_figures(view: View, span: Span, count: int) -> list[float]:
    """Return all figures of a number, one of `count` in its text."""
    value = view.text[slice(*span)]
    digits = sum(map(str.isdigit, value))
    halves = value[3:4] in (" ", "-")
    figures = around(view, span)
    return [
        *figures,
        *together(
            figures,
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
        float(count > 3),  # noqa: PLR2004 - more than a sentence has
        log(1 + len(view.text) / 200),
    ]


def token_figures(view: View, span: Span) -> list[float]:
    """Return all figures of a word."""
    value = view.text[slice(*span)]
    tail = DIGITS_AT_END.search(value)
    figures = around(view, span)
    common = [word in common_words() for word in re.findall("[a-z]+", value.lower())]
    return [
        *figures,
        *together(figures, [float(value.isalnum() and value.islower()), float(PHRASE.fullmatch(value) is not None)]),
        float(value.isalnum() and tail is not None),
        float(PHRASE.fullmatch(value) is not None),
        float(any(sign in value for sign in "!@#$%^&*?~+")),
        float("_" in value),
        float(any(map(str.isupper, value))),
        float(tail is not None and len(tail[1]) > 2),  # noqa: PLR2004 - names of things have two
        log(1 + len(view.text) / 200),
        float(any(common)),
        float(all(common)),
        float(STANDS_OUT.search(view.text) is not None),
    ]


def foreign_figures(view: View, span: Span, count: int) -> list[float]:
    """Return all figures of a foreign word, one of `count` in its text."""
    start, end = span
    figures = around(view, span)
    is_common = view.text[start:end].lower() in common_words()
    return [
        *figures,
        *together(figures, [1.0]),
        float(view.text[start - 1 : start] in tuple("\"'`«“「『") and start > 0),
        float(count > 1 or len(LATIN_WORD.findall(view.text)) > 3),  # noqa: PLR2004 - more than names and a password
        min(1.0, (end - start) / 10),
        log(1 + len(view.text) / 200),
        float(is_common),
        float(is_common and not STANDS_OUT.search(view.text)),
        float(view.text[start].isupper()),
    ]


class LikelySecretRecogniser:
    """Weighs the words around each number and each word that has the form of a password."""

    type = "SECRET"

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all that are likely secrets."""
        of_numbers, of_words, of_foreign = models()
        found = [span for span in foreign(view) if is_asked(view, span)] if has_any(view, ASKING) else []
        if found:
            yield from (
                span
                for span in found
                if of_foreign.score(foreign_figures(view, span, len(found))) > of_foreign.threshold
            )
        if not DIGIT_OR_PHRASE.search(view.text):
            return
        found = numbers(view)
        if found and has_any(view, TELLING):
            yield from (
                span
                for span in found
                if of_numbers.score(number_figures(view, span, len(found))) > of_numbers.threshold
            )
        found = tokens(view)
        if found and (has_any(view, TELLING) or not view.text.isascii()):
            yield from (span for span in found if of_words.score(token_figures(view, span)) > of_words.threshold)


DIGIT_OR_PHRASE = lazy(r"[0-9]{3}|[0-9][a-zA-Z]|[a-zA-Z][0-9]|[a-z]-[a-z]+-[a-z]")

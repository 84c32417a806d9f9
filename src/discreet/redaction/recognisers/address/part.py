"""One part of an address: a flat, a floor, an entrance, a building, a house, a street or a district."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import View
from discreet.redaction.recognisers.address.city import city_behind
from discreet.redaction.recognisers.address.grammar import DIGIT, UPPER
from discreet.redaction.word_index import index, is_unspaced
from discreet.redaction.word_set import small
from discreet.redaction.words import LATIN, any_of, languages, whole, words

ENOUGH = 4
"""Points of the parts together. Each says how likely it is to be of an address, beside another."""
KINDS = ("street", "flat", "floor", "entrance", "building", "house", "area")
NUMBERED = {"flat": 3, "floor": 1, "entrance": 2, "building": 1, "house": 2, "street": 3, "area": 2}
NAMED = {"street": 2, "building": 2, "area": 1, "flat": 0, "floor": 0, "entrance": 0, "house": 0}
CODE = r"(?:[a-zа-я]{1,3}-?)?[0-9]{1,5}(?: ?[a-zа-я](?![^\W\d_]| ?[0-9]|\.))?(?:[./кс-][a-zа-я]{0,2}[0-9]{1,5}[a-zа-я]?){0,5}|[0-9]{1,3}[a-z]{1,2}"
_END = rf"(?![0-9{LATIN}\u0400-\u04ff]|[:][0-9]|[.,][0-9]|[ºª²³]|[ ]?[%€$₽₫°])"
_NO = r"(?:(?:no|nr|nº|n°|n|№|#|số|so|nomor|numéro|número|núm|num|number|नं|नंबर|رقم|เลขที่|дом|д)[.:]? ?)?"
_NAME = rf"(?:(?:de|del|della|delle|dei|di|da|do|dos|das|des|du|la|las|los|le|les|l'|d'|van|der|den|von|św\.|im\.|имени|им\.|al|el|of|[0-9]{{1,3}}(?:-?(?:я|й|го|st|nd|rd|th|a|o))?) ?){{0,3}}[{UPPER}][\w'’.-]{{0,30}}"
NAMES = rf"{_NAME}(?:[ -]{_NAME}){{0,4}}"
CASELESS = r"[\u0590-\u060b\u0620-\u0dff\u0e00-\u0e7f][\u0590-\u060b\u0620-\u0dff\u0e00-\u0e7f.]{1,24}(?: (?!في|على|من)[\u0590-\u060b\u0620-\u0dff\u0e00-\u0e7f][\u0590-\u060b\u0620-\u0dff\u0e00-\u0e7f.]{1,24}){0,2}"
_SMALL = r"(?:[0-9]{1,2} de )?(?!(?:is|the|and|was|has|в|и|на|en|y|de|di|của|có|là|yang|dan|ve)(?![^\W\d_]))[^\W\d_]{2,20}(?: [^\W\d_]{2,20}){0,2}?"
COUNTED = frozenset(
    word
    for language in languages()
    if language.code == "vi"
    for kind in ("flat", "floor")
    for word in language.words("address", kind)
)
"""Words of Vietnamese, whose number stands behind them: before them it counts."""
ANOTHER_COUNTED = lazy(rf"[ ](?:{any_of(COUNTED)})(?![^\W\d_])")
UNIT = lazy(
    rf"[ -]{{0,2}}(?:{whole(words('code', 'unit'))}|кв\.? ?м|[мm][²2]|из |январ|феврал|марта|апрел|мая(?!\w)"
    rf"|июн|июл|август|сентябр|октябр|ноябр|декабр)"
)
NUMBER_BEHIND = lazy(rf"[.:]?[ \n]?[«\"]?{_NO}(?P<code>{CODE}|[a-zа-я](?![^\W_])){_END}")
NAME_BEHIND = lazy(rf"[.:]? ?[«\"]?(?:{NAMES}|{CASELESS})[»\"]?")
SMALL_BEHIND = lazy(rf"[.]? {_SMALL}(?=,? ?(?:{any_of(words('address', 'house'))}[. :]{{0,2}})?[0-9])")
HOUSE_BEHIND = lazy(
    rf"(?:[, ]{{1,2}}|(?<=[\u3400-\u9fff가-힣]))(?P<word>{any_of(words('address', 'house'))}[.:]? ?)?{_NO}(?P<code>{CODE}){_END}"
)
NUMBER_BEFORE = lazy(
    r"(?<![0-9A-Za-z.,:/])(?:[a-z]-?)?[0-9]{1,4}(?:st|nd|rd|th|er|e|º|ª|°|\.|-?(?:й|м|ый|ом|ая|я|ю))?[ ]?\Z"
    r"|(?:первый|второй|третий|четвёртый|четвертый|пятый|шестой|первом|втором|третьем|पहली|दूसरी|तीसरी"
    r"|चौथी|पाँचवीं|पांचवीं|ground|first|second|third"
    r"|fourth|fifth|primo|secondo|terzo|quarto|quinto|premier|deuxième|troisième|primer|segundo|tercer"
    r"|cuarto|primeiro|terceiro|ersten|zweiten|dritten|pierwszym|drugim|trzecim) \Z"
)
NAME_BEFORE = lazy(rf"(?<![\w])(?:{NAMES})[ ]\Z")
CASELESS_BEFORE = lazy(
    r"(?<![\u0900-\u097f])(?:(?<![0-9.,:/])[0-9]{1,5}(?:/[0-9]{1,4})?,? (?:[\u0900-\u097f]{2,20} )?)?[\u0900-\u097f]{2,20}[ ]\Z"
)
SMALL_BEFORE = lazy(r"(?<![\w])(?:[0-9]{1,3}\.? )?[^\W\d_]{3,20}[ ]\Z")
NUMBERED_BEFORE = lazy(r"(?<!\w)[^\W\d_]{3,20} [0-9]{1,4}\. \Z")
"""bahçelievler 7. cad."""
HOUSE_BEFORE = lazy(r"(?<![\w.,:/$€£-])[0-9]{1,4}(?: ?[a-d]|bis|ter)?,? \Z")
MOST_OF_NAME = 5
"""Words of a street's name and of its quarter."""
HAN_BEFORE = lazy(
    r"(?:[0-9]{1,4}|[一二三四五六七八九十甲乙丙丁A-Za-z]{1,3}|(?:(?![在是到住去从從寄给給送请請])[\u3400-\u9fff가-힣\u30a0-\u30ff]){1,8})[ ]?\Z"
)
TOWN_BLOCKS = frozenset("町")
"""Parts of Japanese towns that the number of a house may follow."""
COUNTED_HAN = lazy(r"(?<![로길]\s)(?:^|[^\u3400-\u9fff가-힣0-9])[0-9]{1,6}[ ]?\Z")
"""A number that no name stands before: 10000通り, 9시."""
ENDS = lazy(
    r"[ ]?(?:[,.;!?\n)]|\Z| (?:em|perto|esquina|en|frente|apt?o?|bloco|casa|fundos|dpto|piso|int|col|entre|pls|bitte|ya|ye|ya)(?![^\W\d_]))"
)
AT_END = lazy(r"[ ]?(?:[,.;!?\n)]|\Z)")
NAME_LAST = frozenset(
    word
    for language in languages()
    if language.code in ("es", "fr", "pt", "it", "id", "pl", "vi", "ru", "ar", "hi", "th")
    for word in language.words("address", "street")
)
"""Words for a street that its name follows."""
NAME_FIRST = frozenset(
    word
    for language in languages()
    if language.code in ("tr", "en")
    for kind in ("building", "area")
    for word in language.words("address", kind)
)
"""Words that follow the name of a building or a district."""
BUILDINGS = frozenset(("apartemen", "apartment", "apartments", "residency", "heights", "अपार्टमेंट"))
"""Words for a flat as well as for a house of flats, which has a name."""
HOUSE_FIRST = frozenset(("marg", "gali", "rasta"))
"""Words for a street that its house stands before."""
WEAK_STREETS = frozenset(
    (
        "way",
        "court",
        "place",
        "square",
        "close",
        "weg",
        "platz",
        "ring",
        "damm",
        "pl",
        "al",
        "r",
        "os",
        "st",
        "park",
        "largo",
        "corso",
        "cours",
        "route",
        "passage",
        "via",
        "row",
        "hill",
        "cross",
        "main",
        "walk",
        "path",
        "circle",
        "lane",
        "drive",
        "raya",
        "gang",
        "beco",
        "c/",
        "k",
        "line",
        "линия",
        "strada",
        "borgo",
    )
)
"""Words that begin or end other names as well."""
FLAT_BEHIND = lazy(r"[-之 ]?[0-9]{1,4}(?![0-9]|시|분|초|명|개|년|월|일|원|번째|배|km|m|%|위|등|회|살|세|점)")


PLAIN = 2
"""Points of a name, and of a number that may be of something else."""
TO_STREET = lazy(r"(?<!\w)(?:на|до|у|возле|около|по|с|напротив|przy|na|ở|về|tới|đến|o|ve|di|ke|en|na|à|in) \Z")
AT_HOUSE = lazy(r"(?:^|(?<!\w)(?:at|to|on|from|near|is|of) )[0-9]{1,5}[a-z]? \Z")
"""A house before a street in small letters."""
ORDINAL = lazy(r"(?<![\w.,/])[0-9]{1,4}\.? \Z")


class Part(NamedTuple):
    """A part of an address."""

    start: int
    end: int
    kind: str
    points: int


class Word(NamedTuple):
    """A word of an address."""

    start: int
    end: int
    text: str
    kind: str


def words_in(view: View) -> list[Word]:
    """Return the words of addresses in a text, in order. One that is of several kinds is of the first."""
    lowered, found = view.derived(small), index().found(view)
    at: dict[int, Word] = {}
    for kind in KINDS:
        for start, end in found.get(f"address.{kind}", ()):
            if start not in at:
                at[start] = Word(start, end, lowered[start:end], kind)
    return [at[start] for start in sorted(at)]


def parts(view: View) -> Iterator[Part]:
    """Yield the parts of addresses in a text, in order, whether or not they are of one."""
    text, lowered = view.text, view.derived(small)
    found = words_in(view)
    streets = deque(
        part for street in index().found(view).get("address.known", ()) if (part := known(text, lowered, *street))
    )
    done = 0
    for number, word in enumerate(found):
        while streets and streets[0].start <= word.start:
            street = streets.popleft()
            if street.start >= done:
                yield street
                done = street.end
        if word.start >= done:
            stop = next((each.start for each in found[number + 1 : number + 4] if each.start > word.end), len(text))
            if part := part_of(text, lowered, word, stop):
                yield part
                done = part.end
    yield from (street for street in streets if street.start >= done)


def part_of(text: str, lowered: str, word: Word, stop: int) -> Part | None:
    """Return the part that a word makes with a number or a name beside it; None if there is none.

    The next word of an address begins at `stop`.
    """
    if len(word.text) <= len("so") and lowered[word.start - 1 : word.start].isdigit() and word.text.isascii():
        return None  # H2SO4
    if word.text.endswith(".") and "\u0e00" <= lowered[word.start - 1 : word.start] <= "\u0e7f":
        return None  # the end of another abbreviation
    if is_unspaced(word.text[0]) and word.text[0] > "\u0e7f":
        return glued(text, word)
    if word.kind == "street":
        single = len(word.text) == 1 and not text.startswith(".", word.end)
        return None if single else street(text, lowered, word.start, word.end, stop)
    number = NUMBER_BEHIND.match(lowered, word.end)
    before = counted(lowered, word) if number is None or number["code"].isalpha() else None  # quinto piano e …
    if number and before is None and not UNIT.match(lowered, number.end()):
        return numbered(text, lowered, word, number)
    return before or counted(lowered, word) or named(text, word, stop)


def glued(text: str, word: Word) -> Part | None:
    """Return the part of a word that has its number or name right before it, as in Chinese, Japanese and Korean."""
    kind = word.kind
    before = HAN_BEFORE.search(text, max(0, word.start - 8), word.start)
    if before is None:
        return None
    if kind in ("street", "area") and COUNTED_HAN.search(text, max(0, word.start - 8), word.start):
        return None
    if word.text == "호" and text.startswith(("차", "선", "기", "관"), word.end):
        return None
    number = DIGIT.match(before[0]) is not None or (len(before[0].strip()) == 1 and kind != "street")
    if not number and kind in ("flat", "floor", "entrance", "house"):
        return None
    points = NAMED[kind] if not number else PLAIN if kind in ("building", "street") else NUMBERED[kind]
    behind = (
        FLAT_BEHIND.match(text, word.end)
        if kind in ("entrance", "building", "street", "floor") or word.text in TOWN_BLOCKS
        else None
    )
    if behind:
        points = ENOUGH if kind == "street" and not number else points + 1
    return Part(before.start(), behind.end() if behind else word.end, kind, points)


def numbered(text: str, lowered: str, word: Word, number: re.Match[str]) -> Part | None:
    """Return the part of a word and the number behind it, unless that is of something else."""
    kind, start = word.kind, word.start
    if (
        len(word.text) == 1
        and word.text not in "pqд"
        and not number[0].startswith("." if word.text != "d" else (".", ":"))
    ):
        return None  # 28 m2, R16
    if word.text in COUNTED and ANOTHER_COUNTED.match(lowered, number.end()):
        return None  # căn hộ 2 phòng
    code = number["code"]
    digit = DIGIT.search(code) is not None
    if word.text in COUNTED and not digit:
        return None  # can I
    if len(word.text) == 1 and code.startswith("0") and not number[0].startswith("."):
        return None  # P0420
    points = NUMBERED[kind] + (
        kind in ("flat", "building") and digit and not code.replace(" ", "0").isdigit() and " " not in code
    )
    if kind in ("building", "area") and word.text in NAME_FIRST:
        before = NAME_BEFORE.search(text, max(0, start - 40), start)
        start = before.start() if before else start
    return Part(start, number.end(), kind, points if digit else max(1, points - 1))


def counted(lowered: str, word: Word) -> Part | None:
    """Return the part of a word with a number before it: 3rd floor, 4. Stock."""
    kind, start = word.kind, word.start
    if kind not in ("floor", "entrance", "house") or word.text in COUNTED or len(word.text) == 1:
        return None
    before = NUMBER_BEFORE.search(lowered, max(0, start - 14), start)
    return Part(before.start(), word.end, kind, NUMBERED[kind]) if before else None


def named(text: str, word: Word, stop: int) -> Part | None:
    """Return the part of a word with a name behind it, or before it."""
    kind, start, end = word.kind, word.start, word.end
    if word.text in BUILDINGS:
        kind = "building"
    if kind not in ("building", "area"):
        return None
    if name := NAME_BEHIND.match(text, end, stop):
        return Part(start, start + len(text[start : name.end()].rstrip()), kind, NAMED[kind])
    before = NAME_BEFORE.search(text, max(0, start - 40), start)
    return Part(before.start(), end, kind, NAMED[kind]) if before else None


def street(text: str, lowered: str, start: int, end: int, stop: int) -> Part | None:
    """Return the part of a street with its name, and with the house's number if it is there."""
    weak = lowered[start:end] in WEAK_STREETS
    hindi = "\u0900" <= text[max(0, start - 2) : start][:1] <= "\u097f"
    caseless = CASELESS_BEFORE.search(text, max(0, start - 48), start) if hindi else None
    if caseless and caseless[0][0].isdigit():
        return Part(caseless.start(), end, "street", ENOUGH)
    last = lowered[start:end] in NAME_LAST
    if last and (part := name_last(text, lowered, start, end, stop, weak=weak)):
        return part
    house = house_behind(lowered, end, NUMBER_BEHIND) or house_behind(lowered, end, HOUSE_BEHIND)
    if before := NAME_BEFORE.search(text, max(0, start - 40), start):
        sure = (house and not weak) or (lowered[start:end] in HOUSE_FIRST and before[0][0].isdigit())
        points = ENOUGH if sure else PLAIN
        return Part(before.start(), house.end() if house else end, "street", points)
    if caseless:
        return Part(caseless.start(), house.end() if house else end, "street", ENOUGH if house else PLAIN)
    if house and last:
        return numbered_street(text, lowered, start, house, weak=weak)
    return None if weak else small_street(lowered, start, end, house)


def known(text: str, lowered: str, start: int, end: int) -> Part | None:
    """Return the part of a street that hundreds of towns have, by its name alone, with its house."""
    house = house_behind(lowered, end, HOUSE_BEHIND)
    if house is None:
        return None
    told = (
        text[start].isupper()
        or text.startswith(("號", "号"), house.end())
        or AT_END.match(text, house.end())
        or TO_STREET.search(lowered, max(0, start - 12), start)
    )
    return Part(start, house.end(), "street", ENOUGH) if told else None


def house_behind(lowered: str, place: int, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """Return the match of a house's number at a place, unless it counts something."""
    house = pattern.match(lowered, place)
    return None if house is None or UNIT.match(lowered, house.end()) else house


def name_last(text: str, lowered: str, start: int, end: int, stop: int, *, weak: bool) -> Part | None:
    """Return the part of a street whose name follows its word: rue de la Paix 5."""
    name = NAME_BEHIND.match(text, end, stop) or (None if weak else SMALL_BEHIND.match(lowered, end))
    if name is None or name.end() == end:
        return None if weak else name_and_city(lowered, start, end)
    capital = name.re == NAME_BEHIND
    if house := house_behind(lowered, name.end(), HOUSE_BEHIND):
        sure = capital or house["word"] or ENDS.match(text, house.end()) or city_behind(lowered, house.end())
        return Part(start, house.end(), "street", ENOUGH if sure else NUMBERED["street"])
    return Part(start, name.end(), "street", PLAIN * capital)


def name_and_city(lowered: str, start: int, end: int) -> Part | None:
    """Return the part of a street in small letters behind its house, its name and city behind it: 27 rue de la paix paris."""
    if not HOUSE_BEFORE.search(lowered, max(0, start - 8), start):
        return None
    city = city_behind(lowered, end + lowered.startswith(".", end), most=MOST_OF_NAME, named=True)
    return Part(start, city, "street", PLAIN) if city else None


def numbered_street(text: str, lowered: str, start: int, number: re.Match[str], *, weak: bool) -> Part | None:
    """Return the part of a street that has a number for its name: carrera 63 # 21-33, hẻm 215 Lê Văn Sỹ."""
    if house := HOUSE_BEHIND.match(lowered, number.end()):
        return Part(start, house.end(), "street", ENOUGH)
    name = NAME_BEHIND.match(text, number.end())
    if name and name[0].startswith(" "):
        return Part(start, name.end(), "street", ENOUGH)
    return None if weak else Part(start, number.end(), "street", PLAIN)


def small_street(lowered: str, start: int, end: int, house: re.Match[str] | None) -> Part | None:
    """Return the part of a street in small letters, or of one that has a number for its name before its word."""
    before = None if lowered[start:end] in NAME_LAST else SMALL_BEFORE.search(lowered, max(0, start - 28), start)
    if house:
        before = before or NUMBERED_BEFORE.search(lowered, max(0, start - 32), start)
        city = before and city_behind(lowered, house.end())
        points = ENOUGH if city else NUMBERED["street"] if before else PLAIN
        return Part(before.start() if before else start, house.end(), "street", points)
    if before and AT_HOUSE.search(lowered, max(0, before.start() - 16), before.start()):
        return Part(before.start(), end, "street", PLAIN)
    number = ORDINAL.search(lowered, max(0, start - 6), start)
    return Part(number.start(), end, "street", PLAIN) if number else None

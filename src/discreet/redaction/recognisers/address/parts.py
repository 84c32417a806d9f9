"""Addresses of all languages by their parts: a flat, an entrance, a house, a street, a district, whatever their order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from discreet.redaction.recognisers.address.grammar import DIGIT, UPPER
from discreet.redaction.recognisers.told.names import Names
from discreet.redaction.view import Span, View
from discreet.redaction.word_set import small
from discreet.redaction.words import LATIN, any_of, languages, whole, words

ENOUGH = 4
"""Points of the parts together. Each says how likely it is to be of an address, beside another."""
MOST_GAP = 48
REACH = 40
HOME = frozenset(("street", "flat", "building", "house"))
KINDS = ("street", "flat", "floor", "entrance", "building", "house", "area")
NUMBERED = {"flat": 3, "floor": 1, "entrance": 2, "building": 1, "house": 2, "street": 3, "area": 2}
NAMED = {"street": 2, "building": 2, "area": 1, "flat": 0, "floor": 0, "entrance": 0, "house": 0}

_CODE = r"(?:[a-zа-я]{1,3}-?)?[0-9]{1,5}(?: ?[a-zа-я](?![^\W\d_]| ?[0-9]))?(?:[./кс-][a-zа-я]{0,2}[0-9]{1,5}[a-zа-я]?){0,5}|[0-9]{1,3}[a-z]{1,2}"
_END = rf"(?![0-9{LATIN}\u0400-\u04ff]|[:][0-9]|[.,][0-9]|[ºª²³]|[ ]?[%€$₽₫°])"
_NO = r"(?:(?:no|nr|nº|n°|n|№|#|số|so|nomor|numéro|número|núm|num|number|नं|नंबर|رقم|เลขที่|дом|д)[.:]? ?)?"
_NAME = rf"(?:(?:de|del|della|delle|dei|di|da|do|dos|das|des|du|la|las|los|le|les|l'|d'|van|der|den|von|św\.|im\.|имени|им\.|al|el|of|[0-9]{{1,3}}(?:-?(?:я|й|го|st|nd|rd|th|a|o))?) ?){{0,3}}[{UPPER}][\w'’.-]{{0,30}}"
_NAMES = rf"{_NAME}(?:[ -]{_NAME}){{0,4}}"
_CASELESS = r"[\u0590-\u060b\u0620-\u0dff\u0e00-\u0e7f][\u0590-\u060b\u0620-\u0dff\u0e00-\u0e7f.]{1,24}(?: (?!في|على|من)[\u0590-\u060b\u0620-\u0dff\u0e00-\u0e7f][\u0590-\u060b\u0620-\u0dff\u0e00-\u0e7f.]{1,24}){0,2}"
_SMALL = r"(?!(?:is|the|and|was|has|в|и|на|en|y|de|di|của|có|là|yang|dan|ve)(?![^\W\d_]))[^\W\d_]{2,20}(?: [^\W\d_]{2,20}){0,2}?"

COUNTED = frozenset(
    word
    for language in languages()
    if language.code == "vi"
    for kind in ("flat", "floor")
    for word in language.words("address", kind)
)
"""Words of Vietnamese, whose number stands behind them: before them it counts."""
UNIT = re.compile(rf"[ -]{{0,2}}{whole(words('code', 'unit'))}")
WORD = re.compile("|".join(f"(?P<{kind}>{whole(words('address', kind))})" for kind in KINDS))
NUMBER_BEHIND = re.compile(rf"[.:]?[ \n]?[«\"]?{_NO}(?P<code>{_CODE}|[a-zа-я](?![^\W_])){_END}")
NAME_BEHIND = re.compile(rf"[.:]? ?[«\"]?(?:{_NAMES}|{_CASELESS})[»\"]?")
SMALL_BEHIND = re.compile(rf"[.]? {_SMALL}(?=,? ?(?:{any_of(words('address', 'house'))}[. :]{{0,2}})?[0-9])")
HOUSE_BEHIND = re.compile(rf"[, ]{{1,2}}(?:{any_of(words('address', 'house'))}[.:]? ?)?{_NO}(?P<code>{_CODE}){_END}")
NUMBER_BEFORE = re.compile(
    r"(?<![0-9A-Za-z.,:/])(?:[a-z]-?)?[0-9]{1,4}(?:st|nd|rd|th|er|e|º|ª|°|\.|-?(?:й|м|ый|ом|ая|я|ю))?[ ]?\Z|(?:первый|второй|третий|четвёртый|четвертый|пятый|шестой|первом|втором|третьем|ground|first|second|third|fourth|fifth) \Z"
)
NAME_BEFORE = re.compile(rf"(?<![\w])(?:{_NAMES})[ ]\Z")
SMALL_BEFORE = re.compile(r"(?<![\w])(?:[0-9]{1,3}\.? )?[^\W\d_]{3,20}[ ]\Z")
HAN_BEFORE = re.compile(
    r"(?:[0-9]{1,4}|[一二三四五六七八九十甲乙丙丁A-Za-z]{1,3}|[\u3400-\u9fff가-힣\u30a0-\u30ff]{1,8})[ ]?\Z"
)
GAP = re.compile(
    rf"[\s,،;/|.·、，()«»\"–-]{{0,5}}(?:(?:по|в|на|of|in|at|an der|de|à|au|dans|sur|của|ở|del|di|da|do|na|w|przy|tại|od|van|में|في|से|の|ที่|ve|di|en|y|el|la|il|rumah|nhà)[ ])?(?:(?:{_NAMES}|{_CASELESS}|[\u3400-\u9fff가-힣]{{1,8}}|{_CODE.replace('[a-zа-я]', '[A-Za-zА-Яа-я]')})[\s,،;/|.·、，()–-]{{1,4}}){{0,2}}"
)
"""What may stand between two parts: a sign, a small word, names and numbers that no word explains."""
LEFT = re.compile(
    rf"(?:(?P<home>(?<![\w.])(?:{_NAMES},? [0-9]{{1,4}}[A-Za-zА-Яа-я]?(?:[/к-][0-9]{{1,4}}[а-я]?)?|[0-9]{{1,5}}[A-Za-z]?(?:[/-][0-9]{{1,4}}[A-Za-z]?){{0,3}},? {_NAMES}|#[0-9]{{1,4}}|[A-Z]{{1,3}}-?[0-9]{{1,4}}(?:/[0-9]{{1,4}})?))"
    r"|(?P<number>(?<![0-9A-Za-z.,:/$€£-])[0-9]{1,5}[A-Za-z]?(?:[/-][0-9]{1,4}[A-Za-z]?){0,3})|(?P<name>(?<![가-힣])[가-힣]{2,10}|[\u4e00-\u9fff]{2,8}|[\u30a0-\u30ff]{2,12}))[\s,]{0,3}\Z"
)
LEFT_SMALL = re.compile(
    r"(?<!\w)(?P<name>)(?:[^\W\d_]{3,20} )?[^\W\d_]{3,20},? [0-9]{1,3}[a-zа-я]?(?:[/к-][0-9]{1,4}[а-я]?)?[\s,]{1,2}\Z"
)
"""What may stand before the first part: a street or a flat that no word explains, a number, the name of a building."""
_POSTCODE = r"(?:[A-Z]{1,2}-)?(?:[0-9]{4,6}(?:-[0-9]{3,4})?|[0-9]{2}-[0-9]{3}|[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]|[A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}|[0-9]{4} ?[A-Z]{2})(?![0-9A-Za-z_])"
RIGHT = re.compile(
    rf"[, ]{{1,2}}(?:gauche|droite|links|rechts|mitte|sx|dx|izq|izquierda|derecha|dcha|esq|esquerdo|direito|налево|направо|слева|справа|left|right|rear|fundos|sol|sağ)(?![^\W\d_])|[ ]?[,–-][ ]{{0,2}}(?:(?:c\.?p\.?|col\.?) ?)?(?:{_NAMES})(?:/(?:{_NAMES}))?(?!\w| ?:)|[ ](?:{_NAMES})/(?:{_NAMES})|[ ,]{{1,2}}\((?:{_NAMES})\)|[\s,–-]{{1,4}}(?:C\.?P\.? ?)?{_POSTCODE}(?: {_NAMES})?"
    rf"|[ ]?[,،] ?(?:{_CASELESS})|[ ](?:{_CASELESS})(?= [0-9]{{5,6}}(?![0-9]))|(?<=[^\x00-\x7f])[0-9]{{1,4}}(?:-[0-9]{{1,4}}){{0,2}}(?![0-9])|(?<=[号號棟栋幢座院])[\u3400-\u9fff]{{2,8}}[0-9]{{1,4}}(?:-[0-9]{{1,4}}){{0,2}}[\u3400-\u9fff]{{0,2}}"
)
NAME_RIGHT = re.compile(rf"[ ](?:{_NAMES})(?=[,.!?\n]|\Z| [^\W\d_])")
"""The name of a building right behind its number."""
STREET_BEHIND = re.compile(
    rf"[, ]{{1,2}}(?:{_NAMES}),? [0-9]{{1,4}}[a-zа-я]?(?:[/-][0-9]{{1,4}})?(?![0-9A-Za-zА-Яа-я]|[.,:][0-9])"
)
AT_END = re.compile(r"[ ]?(?:[,.;!?\n)]|\Z)")
SLAVIC_BEFORE = re.compile(r"(?<!\w)(?:[^\W\d_]{3,20} )?[а-яё]{3,20}(?:ина|ова|ева|ого|ой|ая|ую|ых|их|а|ы|и|я)[, ] ?\Z")
"""A street in small letters, as it stands before its house."""
LABEL = re.compile(
    rf"(?:^|(?<=\n))[^\n:：\0]{{0,24}}?(?P<told>{whole(words('address', 'told'))})[^\n:：\0]{{0,20}}?(?:[:：]| [-–—] )[ \t]{{0,3}}(?P<value>(?=[^\n]{{0,170}}[0-9])[^\n]{{6,170}})"
)
"""A line of a form, for text in small letters."""
NO_HOME = re.compile(
    r"(?:e-?mail|mail|ip|mac|family|space|book|range|type|bar|resolution|web|url|site|wallet|btc|eth|http|почт|邮箱|郵箱|邮件|メール|메일|@|://)"
)
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
FLAT_BEHIND = re.compile(r"[-之 ]?[0-9]{1,4}(?![0-9])")


class Part(NamedTuple):
    """A part of an address."""

    start: int
    end: int
    kind: str
    points: int


class PartsAddressRecogniser:
    """Finds parts that stand side by side, and takes them for an address where they are enough together."""

    type = "ADDRESS"
    NEEDS_DIGIT = True

    @cached_property
    def _names(self) -> Names:
        return Names(words("address", *KINDS))

    @cached_property
    def _told(self) -> re.Pattern[str]:
        return re.compile(rf"{whole(words('address', 'told'))}[^.!?\n]{{0,{REACH}}}\Z")

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        text = view.text
        if not DIGIT.search(text):
            return
        lowered = view.derived(small)
        if ":" in text or "\uff1a" in text:
            for label in LABEL.finditer(lowered):
                if not NO_HOME.search(label[0]) and label["told"] not in label["value"]:
                    yield label.start("value"), label.start("value") + len(label["value"].rstrip())
        places = self._names.places(view)
        if not places:
            return
        run: list[Part] = []
        for part in parts(text, lowered, places):
            if run and not is_beside(text, run[-1], part):
                yield from self._judged(text, lowered, run)
                run = []
            run.append(part)
        if run:
            yield from self._judged(text, lowered, run)

    def _judged(self, text: str, lowered: str, run: list[Part]) -> Iterator[Span]:
        start, end = run[0].start, max(part.end for part in run)
        if not DIGIT.search(text, start, end):
            return
        points = sum(part.points for part in run)
        left = LEFT.search(text, max(0, start - 60), start)
        if left and left["number"] and run[0].kind != "street":
            left = None
        if left and left["name"] and not (run[0].kind in ("building", "flat") and text[start].isdigit()):
            left = None
        if left is None and run[0].kind in ("flat", "entrance", "building"):
            left = LEFT_SMALL.search(text, max(0, start - 48), start)
        if left is None and run[0].kind == "house":
            left = SLAVIC_BEFORE.search(text, max(0, start - 48), start)
        if not any(part.kind in HOME for part in run) and not (left and left.re is LEFT and left["home"]):
            return
        points += left is not None and left.re is not SLAVIC_BEFORE and not left["name"] and 2
        if points < ENOUGH and (more := STREET_BEHIND.match(text, end)):
            points, end = points + 2, more.end()
        if points < ENOUGH and self._told.search(lowered, max(0, start - REACH - 20), left.start() if left else start):
            points += 2
        if points < ENOUGH or (
            not left and run and all(part.kind == "street" and part.points < ENOUGH for part in run)
        ):
            return
        for count in range(5):
            right = RIGHT.match(text, end) or (
                NAME_RIGHT.match(text, end) if not count and run[-1].kind in ("flat", "building", "floor") else None
            )
            if right is None:
                break
            end = right.end()
        yield left.start() if left else start, end


def is_beside(text: str, before: Part, part: Part) -> bool:
    """Tell whether a part goes on where another ends."""
    return part.start <= before.end or (
        part.start - before.end <= MOST_GAP and GAP.fullmatch(text, before.end, part.start) is not None
    )


def parts(text: str, lowered: str, places: list[int]) -> Iterator[Part]:
    """Yield the parts that words at `places` make with what stands beside them, in order."""
    done = 0
    for place in places:
        if place < done or (word := WORD.match(lowered, place)) is None:
            continue
        part = part_of(text, lowered, word)
        if part:
            yield part
            done = part.end


def part_of(text: str, lowered: str, word: re.Match[str]) -> Part | None:
    """Return the part that a word makes with a number or a name beside it; None if there is none."""
    kind, start, end = word.lastgroup or "", word.start(), word.end()
    unspaced = word[0][0] > "\u0e7f" and not "\u1e00" <= word[0][0] <= "\u1eff"
    if unspaced:
        before = HAN_BEFORE.search(text, max(0, start - 8), start)
        if before is None:
            return None
        numbered = DIGIT.match(before[0]) is not None or (len(before[0].strip()) == 1 and kind != "street")
        if not numbered and kind in ("flat", "floor", "entrance", "house"):
            return None
        points = (2 if kind == "building" else NUMBERED[kind] if kind != "street" else 2) if numbered else NAMED[kind]
        behind = FLAT_BEHIND.match(text, end) if kind in ("entrance", "building", "street", "floor") else None
        if behind and kind == "street" and not numbered:
            points = ENOUGH
        return Part(before.start(), behind.end() if behind else end, kind, points + (behind is not None))
    if kind == "street":
        return street_part(text, lowered, start, end)
    if (number := NUMBER_BEHIND.match(lowered, end)) and not UNIT.match(lowered, number.end()):
        code = number["code"]
        if len(word[0]) == 1 and word[0] not in "pqд" and not number[0].startswith("."):
            return None  # 28 m2, R16
        if (
            word[0] in COUNTED
            and lowered[number.end() : number.end() + 1] == " "
            and (next_word := WORD.match(lowered, number.end() + 1))
            and next_word[0] in COUNTED
        ):
            return None  # căn hộ 2 phòng
        points = NUMBERED[kind] + (
            kind in ("flat", "building") and not code.isdigit() and DIGIT.search(code) is not None
        )
        if (
            kind in ("building", "area")
            and word[0] in NAME_FIRST
            and (before := NAME_BEFORE.search(text, max(0, start - 40), start))
        ):
            start = before.start()
        return Part(start, number.end(), kind, points if DIGIT.search(code) else max(1, points - 1))
    if (
        kind in ("floor", "entrance", "house")
        and word[0] not in COUNTED
        and len(word[0]) > 1
        and (before := NUMBER_BEFORE.search(lowered, max(0, start - 14), start))
    ):
        return Part(before.start(), end, kind, NUMBERED[kind])
    if kind in ("building", "area") and (name := NAME_BEHIND.match(text, end)):
        return Part(start, name.end(), kind, NAMED[kind])
    if kind in ("building", "area") and (before := NAME_BEFORE.search(text, max(0, start - 40), start)):
        return Part(before.start(), end, kind, NAMED[kind])
    return None


def street_part(text: str, lowered: str, start: int, end: int) -> Part | None:
    """Return the part of a street with its name, before its word or behind it, and the house's number if it is there."""
    weak = lowered[start:end] in WEAK_STREETS
    if end - start == 1 and text[end : end + 1] != ".":
        return None
    last = lowered[start:end] in NAME_LAST
    name = (NAME_BEHIND.match(text, end) or (None if weak else SMALL_BEHIND.match(lowered, end))) if last else None
    if name and name.end() > end:
        house = HOUSE_BEHIND.match(lowered, name.end())
        house = None if house and UNIT.match(lowered, house.end()) else house
        capital = name.re is NAME_BEHIND
        sure = capital or (house is not None and AT_END.match(text, house.end()) is not None)
        points = (ENOUGH if sure else NUMBERED["street"]) if house else NAMED["street"] * capital
        return Part(start, house.end() if house else name.end(), "street", points)
    before = NAME_BEFORE.search(text, max(0, start - 40), start)
    house = NUMBER_BEHIND.match(lowered, end) or HOUSE_BEHIND.match(lowered, end)
    if house and UNIT.match(lowered, house.end()):
        house = None
    if before:
        return Part(
            before.start(), house.end() if house else end, "street", ENOUGH if house and not weak else NAMED["street"]
        )
    if house and last and (more := HOUSE_BEHIND.match(lowered, house.end())):
        return Part(start, more.end(), "street", ENOUGH)  # carrera 63 # 21-33
    if house and last and (named := NAME_BEHIND.match(text, house.end())) and named[0].startswith(" "):
        return Part(start, named.end(), "street", ENOUGH)  # hẻm 215 Lê Văn Sỹ
    if weak:
        return None
    small_before = None if last else SMALL_BEFORE.search(lowered, max(0, start - 28), start)
    if house:
        return Part(
            small_before.start() if small_before else start,
            house.end(),
            "street",
            NUMBERED["street"] if small_before else 2,
        )
    if small_before and re.search(
        r"(?:^|(?<![\w])(?:at|to|on|from|near|is|of) )[0-9]{1,5}[a-z]? \Z",
        lowered[max(0, small_before.start() - 16) : small_before.start()],
    ):
        return Part(small_before.start(), end, "street", 2)
    if number := re.search(r"(?<![\w.,/])[0-9]{1,4}\.? \Z", lowered[max(0, start - 6) : start]):
        return Part(start - len(number[0]), end, "street", 2)
    return None

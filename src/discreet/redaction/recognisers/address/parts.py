"""Addresses of all languages by their parts: a flat, an entrance, a house, a street, a district, whatever their order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.address.grammar import DIGIT
from discreet.redaction.recognisers.address.part import CASELESS, CODE, ENOUGH, NAMES, Part, parts
from discreet.redaction.word_set import small
from discreet.redaction.words import whole, words

MOST_BEHIND = 5
"""Names, postcodes and the like that may follow the last part."""
MOST_GAP = 48
REACH = 40
HOME = frozenset(("street", "flat", "building", "house"))
INDOORS = frozenset(("flat", "floor", "building"))
"""Where people meet, too."""
GAP = lazy(
    rf"[\s,،;/|.·、，()«»\"–-]{{0,5}}(?:(?:по|в|на|of|in|at|an der|de|à|au|dans|sur|của|ở|del|di|da|do|na|w|przy"
    rf"|tại|od|van|में|في|से|の|ที่|ve|di|en|y|el|la|il|rumah|nhà)[ ])?(?:(?:{NAMES}|{CASELESS}"
    rf"|[\u3400-\u9fff가-힣]{{1,8}}|{CODE.replace('[a-zа-я]', '[A-Za-zА-Яа-я]')})[\s,،;/|.·、，()–-]{{1,4}}){{0,2}}"
)
"""What may stand between two parts: a sign, a small word, names and numbers that no word explains."""
LEFT = lazy(
    rf"(?:(?P<home>(?<![\w.])(?:{NAMES},? [0-9]{{1,4}}[A-Za-zА-Яа-я]?(?:[/к-][0-9]{{1,4}}[а-я]?)?"
    rf"|[0-9]{{1,5}}[A-Za-z]?(?:[/-][0-9]{{1,4}}[A-Za-z]?){{0,3}},? {NAMES}|#[0-9]{{1,4}}"
    rf"|[A-Z]{{1,3}}-?[0-9]{{1,4}}(?:/[0-9]{{1,4}})?))"
    r"|(?P<number>(?<![0-9A-Za-z.,:/$€£-])[0-9]{1,5}[A-Za-z]?(?:[/-][0-9]{1,4}[A-Za-z]?){0,3})"
    r"|(?P<name>(?<![가-힣])[가-힣]{2,10}|[\u30a0-\u30ff]{2,12}[\u4e00-\u9fff]{0,4}|[\u4e00-\u9fff]{2,8}))[\s,]{0,3}\Z"
)
LEFT_SMALL = lazy(
    r"(?<!\w)(?P<name>)(?:[^\W\d_]{3,20} )?[^\W\d_]{3,20},? [0-9]{1,3}[a-zа-я]?(?:[/к-][0-9]{1,4}[а-я]?)?[\s,]{1,2}\Z"
)
"""What may stand before the first part: a street or a flat that no word explains, a number, the name of a building."""
POSTCODE = r"(?:[A-Z]{1,2}-)?(?:[0-9]{4,6}(?:-[0-9]{3,4})?|[0-9]{2}-[0-9]{3}|[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]|[A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}|[0-9]{4} ?[A-Z]{2})(?![0-9A-Za-z_])"
SIDE = (
    r"[, ]{1,2}(?:gauche|droite|links|rechts|mitte|sx|dx|izq|izquierda|derecha|dcha|esq|esquerdo|direito"
    r"|налево|направо|слева|справа|left|right|rear|fundos|sol|sağ)\.?"
)
"""Where on its floor a flat is."""
RIGHT = lazy(
    rf"{SIDE}(?![^\W\d_])|[ ]?[,–-][ ]{{0,2}}(?:(?:c\.?p\.?"
    rf"|col\.?) ?)?(?:{NAMES})(?:/(?:{NAMES}))?(?!\w| ?:)|[ ](?:{NAMES})/(?:{NAMES})"
    rf"|[ ,]{{1,2}}\((?:{NAMES})\)|[\s,–-]{{1,4}}(?:C\.?P\.? ?)?{POSTCODE}(?: {NAMES})?"
    rf"|[ ]?[,،] ?(?:{CASELESS})|[ ](?:{CASELESS})(?= [0-9]{{5,6}}(?![0-9]))"
    rf"|(?<=[^\x00-\x7f])[0-9]{{1,4}}(?:-[0-9]{{1,4}}){{0,2}}(?![0-9])"
    rf"|(?<=[号號棟栋幢座院])[\u3400-\u9fff]{{2,8}}[0-9]{{1,4}}(?:-[0-9]{{1,4}}){{0,2}}[\u3400-\u9fff]{{0,2}}"
)
POSTCODE_AT_END = lazy(r"(?<![0-9])[0-9]{5,6}\Z")
KATAKANA = lazy("[\u30a0-\u30ff]")
NAME_RIGHT = lazy(rf"[ ](?:{NAMES})(?=[,.!?\n]|\Z| [^\W\d_])")
"""The name of a building right behind its number."""
STREET_BEHIND = lazy(
    rf"[, ]{{1,2}}(?:{NAMES}),? [0-9]{{1,4}}[a-zа-я]?(?:[/-][0-9]{{1,4}})?(?![0-9A-Za-zА-Яа-я]|[.,:][0-9])"
)
SLAVIC_BEFORE = lazy(r"(?<!\w)(?:[^\W\d_]{3,20} )?[а-яё]{3,20}(?:ина|ова|ева|ого|ой|ая|ую|ых|их|а|ы|и|я)[, ] ?\Z")
"""A street in small letters, as it stands before its house."""
LABEL = lazy(
    rf"(?:^|(?<=\n))[^\n:：\0]{{0,24}}?(?P<told>{whole(words('address', 'told'))})[^\n:：\0.!?]{{0,20}}?(?:[:：]"
    rf"| [-–—] )[ \t]{{0,3}}(?P<value>(?=[^\n]{{0,170}}[0-9])[^\n]{{6,170}})(?=\n|\Z)"
)
"""A line of a form, for text in small letters."""
NO_HOME = lazy(
    r"(?:e-?mail|mail|ip|mac|family|space|book|range|type|bar|resolution|web|url|site|wallet|btc|eth|http|почт|邮箱|郵箱|邮件|メール|메일|@|://)"
)


class PartsAddressRecogniser:
    """Finds parts that stand side by side, and takes them for an address where they are enough together."""

    type = "ADDRESS"
    LEAST_DIGITS = 1

    @cached_property
    def _told(self) -> re.Pattern[str]:
        return lazy(rf"{whole(words('address', 'told'))}[^.!?\n]{{0,{REACH}}}\Z")

    @cached_property
    def _meeting(self) -> re.Pattern[str]:
        return lazy(whole(words("address", "meeting")))

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
        run: list[Part] = []
        for part in self.parts(view):
            if run and not is_beside(text, run[-1], part):
                yield from self._judged(text, lowered, run)
                run = []
            run.append(part)
        if run:
            yield from self._judged(text, lowered, run)

    def parts(self, view: View) -> list[Part]:
        """Return all parts of addresses in a text, in order, whether or not they are of one."""
        return view.once(parts, lambda: list(parts(view)))

    def _judged(self, text: str, lowered: str, run: list[Part]) -> Iterator[Span]:
        """Yield the span of an address with what stands around its parts, if they are enough."""
        start, end = run[0].start, max(part.end for part in run)
        left = before_first(text, run[0])
        home = any(part.kind in HOME for part in run) or (
            left is not None and left.re == LEFT and (left["home"] or left["number"])
        )
        if (
            left is None
            and {part.kind for part in run} <= INDOORS
            and self._meeting.search(lowered, max(0, start - REACH), end + REACH)
        ):
            return
        if not home or not DIGIT.search(text, left.start() if left else start, end):
            return
        points = sum(part.points for part in run)
        if left and left.re != SLAVIC_BEFORE:
            points += 1 if left["name"] and KATAKANA.match(left["name"]) else 0 if left["name"] else 2
        if points < ENOUGH and (more := STREET_BEHIND.match(text, end)):
            points, end = points + 2, more.end()
        first = left.start() if left else start
        if points < ENOUGH and self._told.search(lowered, max(0, start - REACH - 20), first):
            points += 2
        if points == ENOUGH - 1 and POSTCODE_AT_END.search(text, end, end_of(text, end, run[-1].kind)):
            points += 1
        streets_only = not left and all(part.kind == "street" and part.points < ENOUGH for part in run)
        if points >= ENOUGH and not streets_only:
            yield first, end_of(text, end, run[-1].kind)


def before_first(text: str, first: Part) -> re.Match[str] | None:
    """Return the match of what stands before the first part and is of the address."""
    left = LEFT.search(text, max(0, first.start - 60), first.start)
    if left and left["number"] and first.kind != "street" and not "\u0e00" <= text[first.start] <= "\u0e7f":
        left = None
    if left and left["name"] and not (first.kind in ("building", "flat") and text[first.start].isdigit()):
        left = None
    if left is None and first.kind in ("flat", "entrance", "building"):
        return LEFT_SMALL.search(text, max(0, first.start - 48), first.start)
    if left is None and first.kind == "house":
        return SLAVIC_BEFORE.search(text, max(0, first.start - 48), first.start)
    return left


def end_of(text: str, end: int, last: str) -> int:
    """Return where the address ends whose last part, of a kind, ends at `end`."""
    if (name := NAME_RIGHT.match(text, end)) and last in ("flat", "building", "floor"):
        end = name.end()
    for _ in range(MOST_BEHIND):
        right = STREET_BEHIND.match(text, end) or RIGHT.match(text, end)
        if right is None:
            break
        end = right.end()
    return end


def is_beside(text: str, before: Part, part: Part) -> bool:
    """Tell whether a part goes on where another ends."""
    gap = part.start - before.end
    return gap <= 0 or (gap <= MOST_GAP and GAP.fullmatch(text, before.end, part.start) is not None)

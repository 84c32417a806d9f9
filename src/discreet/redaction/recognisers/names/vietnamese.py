"""Vietnamese names: a family name and the syllables behind it, where somebody is introduced or addressed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.names.introduced import Introduced, is_capitalised
from discreet.redaction.recognisers.names.known import phrases, small
from discreet.redaction.words import any_of


def unmarked(text: str) -> str:
    """Return a text in small letters and without marks."""
    plain = unicodedata.normalize("NFD", text.lower()).replace("đ", "d")
    return "".join(char for char in plain if not unicodedata.combining(char))


FAMILIES = small("vi", "families")
PLAIN_FAMILIES = frozenset(map(unmarked, FAMILIES))
MIDDLES = frozenset(map(unmarked, small("vi", "middles")))
STOP = small("vi", "stop")
STOP |= frozenset(map(unmarked, STOP)) - MIDDLES
FAMOUS = frozenset(entry.lower() for entry in phrases("vi", "famous"))
SYLLABLE = re.compile(r"[^\W\d_]{1,7}(?![\w])")
MOST_SYLLABLES = 5
UNSURE = 3
"""Syllables in small letters that are taken where none of them is a usual middle name."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Words that introduce a name."""

    pattern: re.Pattern[str]
    small: bool = False
    """The name may be in small letters: a name is what was asked for or told."""
    middle: bool = False
    """In small letters only with one of the usual middle names."""
    least: int = 2
    """Syllables that the name has."""


def _gate(pattern: str, *, small: bool = False, middle: bool = False, least: int = 2) -> Gate:
    return Gate(re.compile(rf"(?<!\w)(?:{pattern})", re.IGNORECASE), small=small, middle=middle, least=least)


_SELF = "tôi|toi|mình|minh|em|cháu|chau|con|tớ|to"
_TITLE = any_of(phrases("vi", "titles"))
_LABEL = any_of(phrases("vi", "labels"))
GATES = (
    _gate(
        rf"(?:họ |ho )?(?:tên|ten)(?: (?:đầy đủ|day du|thật|họ|của|cua))*"
        rf"(?: (?:{_SELF}|ông|bà|anh|chị|cô))?(?: ạ)? (?:là|la) ",
        small=True,
    ),
    _gate(rf"(?:{_SELF}|vợ|chồng|sếp|trai|gái|bạn|anh|chị|mẹ|bố|ba)"
          rf"(?: (?:tôi|mình|em|của tôi))? (?:tên|ten)(?: (?:là|la))? ", small=True),
    _gate(rf"(?:{_LABEL}) ?[:=|-] ?(?:(?:ông|bà|anh|chị|cô|chú) )?", small=True),
    _gate(r"(?:họ và tên|họ tên|ho va ten|ho ten) ", small=True),
    _gate(rf"(?:{_SELF}|đây|day) (?:là|la) ", small=True, middle=True),
    _gate(rf"(?:{_TITLE})(?: (?:tên|là))? "),
    _gate(r"(?:kính gửi|gửi|thưa)(?: (?:anh|chị|cô|chú|ông|bà|thầy|bạn|em))?:? "),
    _gate(r"(?:gọi(?: điện)?(?: lại)? cho|nhắn(?: tin)? cho|cho|gặp|đón|hỏi|liên hệ(?: với)?|mời|nhờ) ", least=3),
    _gate(r"(?:trân trọng|thân mến|thân ái|kính thư|cảm ơn(?: nhiều| bạn| ạ)?|thân|cám ơn(?: nhiều)?)[,.!]? ?\n{1,2}"),
)  # fmt: skip
HINT = re.compile("|".join(sorted({re.escape(each[:2]) for each in FAMILIES | PLAIN_FAMILIES})), re.IGNORECASE)


class VietnameseNameRecogniser(Introduced):
    """Finds a family name of a list, with the one to four syllables behind it, where words introduce people."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all names."""
        text = view.text
        if HINT.search(text) is None:
            return
        for gate in GATES:
            for match in gate.pattern.finditer(text):
                found = _name_at(text, match.end(), gate)
                if found is not None:
                    yield found


def _name_at(text: str, start: int, gate: Gate) -> Span | None:
    """Return the name that begins at a place, if one does."""
    first = SYLLABLE.match(text, start)
    if first is None or first[0].lower() not in FAMILIES | PLAIN_FAMILIES:
        return None
    capital = is_capitalised(first[0])
    if not capital and not gate.small:
        return None
    found = [first]
    while len(found) < MOST_SYLLABLES and text.startswith(" ", found[-1].end()):
        syllable = SYLLABLE.match(text, found[-1].end() + 1)
        if syllable is None or is_capitalised(syllable[0]) != capital or (not capital and syllable[0].lower() in STOP):
            break
        found.append(syllable)
        if not capital and len(found) == MOST_SYLLABLES - 1:
            break
    name = [each[0].lower() for each in found]
    if len(name) < gate.least or " ".join(name) in FAMOUS:
        return None
    if not capital and unmarked(name[1]) not in MIDDLES:
        if gate.middle:
            return None
        found = found[:UNSURE]
    if not capital and gate.middle and len(name) < UNSURE:
        return None
    return start, found[-1].end()

"""Make texts that look the same be the same, whatever characters they are written with."""

from __future__ import annotations

import re
import unicodedata
from string import ascii_letters

from discreet.redaction.confusables import ALIKE, LATIN, MIXED_WORD
from discreet.redaction.normalized_text import View
from discreet.redaction.spoken import with_spoken_digits

KEPT = frozenset("№…‥™℠")
"""What compatibility would spell out in letters or dots, though it reads as something else."""

ENCLOSED = ((0x1F150, 26, "A"), (0x1F170, 26, "A"), (0x1F1E6, 26, "A"))
"""Circled, squared and flag letters that Unicode gives no decomposition: first of them, how many, what it reads as."""

INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0f\U000e0000-\U000e0fff]")
"""Fillers, variation selectors and tag characters that are not of the category Cf (Unicode, Default_Ignorable_Code_Point)."""

ASTERISKS = re.compile(r"\*+")
MOST_KNOWN = 20_000
"""Characters that are known at once: as many as any text has, and 3 MB."""

WITH_MARKS = re.compile(
    "[^\0\n]?[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{1,64}"
)
"""A letter or digit and the marks upon it, at most as many as Unicode's stream-safe text has twice over (UAX 15)."""

MARKUP = re.compile(
    r"(?<!\*)(?:(?<=\S)\*{2,3}|\*{2,3}(?=[^\s*]))(?!\*)|~~|</?(?:b|i|u|s|em|strong|span|wbr|code|mark)/?>|<!--[^<>\n]{0,20}-->",
    re.IGNORECASE,
)
"""Emphasis, which may begin in the middle of a value: `0912 3**45 678**`."""


_LATIN_LETTERS = frozenset(ascii_letters)


class _Folding(dict[int, str]):
    """For `str.translate`: character -> what it reads as. Fills itself on demand and notes what changes lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.moving: set[str] = set()
        """Characters that become none, or several. Never forgotten, as another thread may just be asking for them."""
        self.marks: set[str] = set()
        """Marks upon letters."""
        self.same: set[str] = set()
        """Characters that stay as they are and are no marks upon others."""

    def __missing__(self, code: int) -> str:
        if len(self) >= MOST_KNOWN:
            self.clear()
            self.same = set()
        char = chr(code)
        self[code] = folded = _fold_char(char)
        if len(folded) != 1:
            self.moving.add(char)
        if WITH_MARKS.fullmatch(folded):
            self.marks.add(char)
        elif folded == char:
            self.same.add(char)
        return folded


def _fold_char(char: str) -> str:  # noqa: PLR0911  # one line a kind of character
    category = unicodedata.category(char)
    if category == "Cf" or INVISIBLE.match(char):
        return ""
    if category == "Pd" or char == "\N{MINUS SIGN}":
        return "-"
    if category == "Zs":
        return " "
    if category in ("Zl", "Zp") or char in "\x85\x0b\x0c":
        return "\n"
    if char in KEPT or unicodedata.decomposition(char).startswith(("<super>", "<sub>")):
        return char  # the 2 of m² belongs to no number
    if (digit := unicodedata.digit(char, None)) is not None:
        return str(digit)
    for first, count, letter in ENCLOSED:
        if first <= ord(char) < first + count:
            return chr(ord(letter) + ord(char) - first)
    plain = unicodedata.normalize("NFKC", char)
    return plain if plain.isascii() and plain.strip() else char


_FOLDING = _Folding()


def normalise(text: str | View) -> View:
    r"""Return a text, or a view of one, as recognisers see it.

    Digits, letters, dashes and spaces of all scripts that read as ASCII are ASCII, letters carry their marks in one
    character, and what can't be seen or only emphasises is gone.

    Example:
        >>> normalise("\N{FULLWIDTH DIGIT ONE}2\N{EN DASH}3\N{ZERO WIDTH SPACE}4").text
        '12-34'
    """
    view = text if isinstance(text, View) else View(text)
    text = view.text
    if not text.isascii():
        view = _folded(view)
    if "*" in text or "~~" in text or "<" in text:
        single = [sign for sign in ("**", "***") if _count(view.text, sign) % 2]
        view = view.replaced(MARKUP, lambda match: match[0] if match[0] in single else "")
    return with_spoken_digits(view)


def _count(text: str, sign: str) -> int:
    """Return how often asterisks stand in a row, just so many: what isn't closed is no emphasis but a mask."""
    return sum(len(run) == len(sign) for run in ASTERISKS.findall(text)) if sign in text else 0


def _folded(view: View) -> View:
    chars = set(view.text)
    if chars <= _FOLDING.same:
        return _without_mixed(view, chars)
    folded = view.text.translate(_FOLDING)  # learns the characters it has not seen
    if moving := _FOLDING.moving & chars:
        view = view.replaced(re.compile(f"[{re.escape(''.join(moving))}]"), lambda match: _FOLDING[ord(match[0])])
        view = view.translated(_FOLDING)
    else:
        view = view.read_as(folded)
    if not _FOLDING.marks.isdisjoint(chars):
        view = view.replaced(WITH_MARKS, _composed)
    return _without_mixed(view, set(view.text))


def _without_mixed(view: View, chars: set[str]) -> View:
    """Return the view with letters of one script in words that mix several."""
    if chars.isdisjoint(_LATIN_LETTERS) or chars.isdisjoint(ALIKE) or not MIXED_WORD.search(view.text):
        return view
    return view.replaced(MIXED_WORD, lambda match: match[0].translate(LATIN))


def _composed(match: re.Match[str]) -> str:
    """Return a letter with its marks as one character, or without marks that don't belong to it."""
    whole = unicodedata.normalize("NFKC", match[0])
    return whole if len(whole) == 1 else "" if unicodedata.category(match[0][0]).startswith("M") else match[0][0]

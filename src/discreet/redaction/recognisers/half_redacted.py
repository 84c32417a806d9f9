"""What is left of a value that somebody masked in part: `0912 xxx 568`, `<CARD>8589`, `110101******3284`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import BLANK, Span, View

LEAST_CHARS = 8
"""Digits and signs for digits; fewer are times, scores and sizes."""
LEAST_DIGITS = 5
LEAST_SIGNS = 2

_SIGN = "[*•xX█#]"
NUMBER = lazy(
    rf"(?<![0-9A-Za-z_*•#])(?:[A-Z]{{2}}|\+)?[0-9](?:[ ().-]{{0,3}}[0-9]){{0,24}}[ .)-]{{0,2}}(?:{_SIGN}{{2,12}}[ .-]{{0,2}}){{1,4}}"
    r"[0-9](?:[ .-]{0,2}[0-9]){1,11}(?![0-9A-Za-z_*•])"
)
"""Digits on both sides of signs that stand for digits."""
IBAN = lazy(
    r"(?<![0-9A-Za-z])[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){1,6}(?: ?(?:[*•█#]{2,12}|[xX]{4,12})){1,6}(?: ?[A-Z0-9]{2,4}){0,6}(?![0-9A-Za-z*•])"
)
AT_BEGIN = lazy(
    rf"(?<![0-9A-Za-z_*•#])(?:[A-Z]{{2}})?(?:(?:{_SIGN}{{2,4}}[ .-]?){{2,8}}|[*•█]{{3}}[.-]?)(?P<left>[0-9]{{2,4}}(?:[ .-]?[0-9]{{2,4}}){{1,8}})(?![0-9A-Za-z_])"
)
"""Signs for the first digits, and the others."""
LAST = lazy(
    r"(?<![0-9A-Za-z*•])(?:(?:[*•█]{2,12}|[Xx]{4,12})|(?:[*•xX█]{4}[ -]){2,4}|[*•xX█]{4}[ -](?!(?:19|20)[0-9]{2})|[*•xX█]{3}[ -][*•xX█]{2}[ -])(?P<left>[0-9]{4})(?![0-9A-Za-z*#•]|[ -][*•xX█0-9])"
)
"""The last four of a card."""
LEAST_BEHIND = 6
DIGITS = lazy("[0-9]+")
BETWEEN = lazy(
    rf"(?<![0-9.,:])(?:[0-9]{{2,8}}{BLANK} ?[0-9]{{2,8}}|[0-9]{{2,8}} ?{BLANK}[0-9]{{2,8}}|\+[0-9]{{1,3}} ?{BLANK} ?[0-9]{{2,8}}"
    rf"|(?!(?:19|20)[0-9]{{2}} )[0-9]{{4}} {BLANK} (?!(?:19|20)[0-9]{{2}}(?![0-9]))[0-9]{{4}})(?![0-9]|[-/:.,][0-9])"
)
GLUED = lazy(
    rf"(?:card|карт\w{{0,2}}|thẻ|卡|phone|tel|тел\w{{0,6}}|acc(?:oun)?t|iban|ssn|sđt|số|call|call me|号"
    rf"|號)[^\n]{{0,16}}?(?:[0-9]{{3,8}}{BLANK}|{BLANK}(?:[0-9]{{3,8}}|[0-9]{{2,4}}(?:-[0-9]{{2,4}}){{1,2}}))",
    re.IGNORECASE,
)

CARD_BEHIND = lazy(
    rf"(?:paid|pay(?:ing)?|charged?|cards?|visa|mastercard|оплат\w{{0,5}}|карт\w{{0,2}}|thẻ|卡)[^\n\0]{{0,16}}{BLANK} (?P<left>(?!19|20)[0-9]{{4}})(?![0-9A-Za-z]|[ -/:.,][0-9])",
    re.IGNORECASE,
)
"""The last four behind a card that is masked."""

_MASKED = (
    "(?i:redacted|masked|hidden|removed|скрыто|удалено|đã ẩn|ẩn|ukryte|usunięte|oculto|ocultado|masqué|supprimé|nascosto|verborgen"
    "|geschwärzt|已隐藏|已隱藏|隐藏|隱藏|已删除|已刪除|已屏蔽|屏蔽|已遮蔽|遮蔽|已脱敏|已打码|打码)"
)
_MASK = (
    rf"(?:\[(?:[A-Z][A-Z_ ]{{2,19}}|{_MASKED})\]|<(?:[A-Z][A-Z_]{{2,19}}|{_MASKED})>|\({_MASKED}\)"
    r"|#{3,8}|_{3,8}|█{2,12}|…|[?]{3,8})"
)
BESIDE = lazy(
    rf"(?<![\w.,])[0-9](?:[ -]?[0-9]){{2,11}}[ -]?{_MASK}(?:[ -]?[0-9](?:[ -]?[0-9]){{1,11}})?(?![0-9A-Za-z])"
    rf"|(?<![\w.,])(?<!^){_MASK}[ -]?[0-9](?:[ -]?[0-9]){{3,11}}(?![0-9A-Za-z]|[.,][0-9])"
)
"""Digits, and a word or signs for the others."""
PARENTHESIS = lazy(rf"\({_MASKED}")
AT_END = lazy(
    r"(?<![\w*•#])\+?[0-9](?:[ ().-]{0,2}[0-9]){6,14}[ .-]{0,2}[*•xX█]{2,6}(?:-[*•xX█]{2,4}){0,2}(?![0-9A-Za-z_*•])"
    r"|(?<![0-9A-Za-z])[0-9]{3}-[0-9]{2}-[xX*•]{4}(?![0-9A-Za-z*•])"
)
"""Seven digits or more, and signs for the last ones."""


class HalfRedactedRecogniser:
    """Finds the digits that were left beside asterisks, the letter x, or a placeholder."""

    type = "PARTIAL_NUMBER"
    LEAST_DIGITS = 3

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all such digits."""
        text = view.text
        if any(sign in text for sign in ("**", "••", "xx", "XX", "██", "##")):
            yield from beside_signs(text)
        if any(sign in text for sign in ("[", "<", "###", "___", "██", "…", "???")) or PARENTHESIS.search(text):
            yield from digits_in(BESIDE.finditer(text))
        if BLANK in text:
            yield from digits_in(BETWEEN.finditer(text))
            yield from digits_in(GLUED.finditer(text))
            yield from (match.span("left") for match in CARD_BEHIND.finditer(text))


def beside_signs(text: str) -> Iterator[Span]:
    """Yield the spans of numbers that have signs for some of their digits."""
    for match in NUMBER.finditer(text):
        digits = sum(map(str.isdigit, match[0]))
        signs = sum(char in "*•xX█" for char in match[0])
        if digits >= LEAST_DIGITS and signs >= LEAST_SIGNS and digits + signs >= LEAST_CHARS:
            yield match.span()
    for pattern in (AT_END, IBAN):
        yield from (match.span() for match in pattern.finditer(text))
    for match in AT_BEGIN.finditer(text):
        if sum(map(str.isdigit, match["left"])) >= LEAST_BEHIND:
            yield match.span("left")
    yield from (match.span("left") for match in LAST.finditer(text))


def digits_in(matches: Iterator[re.Match[str]]) -> Iterator[Span]:
    """Yield the spans of the digits in matches."""
    for match in matches:
        for part in DIGITS.finditer(match[0]):
            yield match.start() + part.start(), match.start() + part.end()

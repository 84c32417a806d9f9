"""E-mail addresses that are written so that programs don't see them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.view import Span, View

_TOP = "com|net|org|edu|gov|info|biz|io|ai|dev|app|me|co|vn|ru|su|tw|cn|hk|jp|kr|uk|de|fr|es|it|pl|nl|eu|us|ca|au|in|br|ch|рф|by|kz|ua"
"""Top-level domains that people name aloud; any two letters after "dot" would be too many."""
_LETTER = r"A-Za-z0-9_\u00c0-\u024f\u0400-\u04ff\u1e00-\u1eff"
"""Of Latin and Cyrillic: Han letters right before an address are prose."""
_WORD = rf"[{_LETTER}+%&-]{{1,64}}"
_LABEL = rf"[{_LETTER}-]{{1,63}}"
_AT = (
    r"(?: {0,2}[\[({<] {0,2}(?:at|@|a còng|собака|小老鼠|艾特) {0,2}[\])}>] {0,2}"
    r"| {1,2}(?:at|a còng|собака|小老鼠|艾特) {1,2}| {1,2}@ {0,2}| {0,2}@ {1,2}|@)"
)
_DOT = r"(?: {0,2}[\[({<] {0,2}(?:dot|\.|chấm|точка|點|点) {0,2}[\])}>] {0,2}| {1,2}(?:dot|chấm|точка|點|点) {1,2}|\.)"


class ObfuscatedEmailRecogniser:
    """Finds `ann [at] example [dot] com`, `ann at example dot com` (also in vi, ru, zh), `ann @ example.com` and `moc.elpmaxe@nna`."""

    type = "EMAIL"

    HINTS = ("[at", "(at", "{at", "<at", "[ at", "( at", "@ ", " @", "[@", "(@")
    SPOKEN = (
        (" at ", " dot "),
        ("a còng", "chấm"),
        ("собака", "точка"),
        ("小老鼠", "點"),
        ("小老鼠", "点"),
        ("艾特", "点"),
        ("艾特", "點"),
    )
    """Words that have to come together; either alone is an ordinary one."""

    SPELLED = re.compile(
        rf"(?<![{_LETTER}+%&-]){_WORD}(?:{_DOT}{_WORD}){{0,3}}(?P<at>{_AT})(?P<domain>{_LABEL}(?:{_DOT}{_LABEL}){{0,3}}{_DOT}(?:{_TOP}))(?![A-Za-z0-9])",
        re.IGNORECASE,
    )

    BACKWARDS = re.compile(
        rf"(?<![A-Za-z0-9])(?:{'|'.join(top[::-1] for top in _TOP.split('|'))})(?:\.[A-Za-z0-9-]{{1,63}}){{1,4}}@[A-Za-z0-9._+-]{{1,64}}",
        re.IGNORECASE,
    )

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        lowered = view.lowered
        spoken = any(at in lowered and dot in lowered for at, dot in self.SPOKEN)
        if spoken or any(hint in lowered for hint in self.HINTS):
            for match in self.SPELLED.finditer(view.text):
                if self.validate(match):
                    yield match.span()
        if "@" in view.text:
            yield from (match.span() for match in self.BACKWARDS.finditer(view.text))

    def validate(self, match: re.Match[str]) -> bool:
        """Reject "meet me at example.com", where a bare word for @ needs a word for the dot too, and what is not disguised."""
        if match["at"] == "@":
            return any(sign in match[0] for sign in " ([{<")
        spoken = match["at"].replace(" ", "").isalpha()
        return not (spoken and "." in match["domain"])

"""E-mail addresses that are written so that programs don't see them."""

# ruff: noqa: RUF001 - the words are written in their own letters

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.recognisers.address.grammar import words
from discreet.redaction.view import Span, View

_TOP = (
    "com|net|org|edu|gov|info|biz|io|ai|dev|app|me|co|agency|shop|online|site|xyz|vn|ru|su|tw|cn|hk|sg|jp|kr|uk|ie|de|at|ch|fr|be|nl"
    "|es|pt|it|pl|cz|eu|us|ca|mx|br|au|nz|in|рф|by|kz|ua"
)
"""Top-level domains that people name aloud; any two letters after "dot" would be too many."""
_LETTER = r"A-Za-z0-9_\u00c0-\u024f\u0400-\u04ff\u1e00-\u1eff"
"""Of Latin and Cyrillic: Han letters right before an address are prose."""
_WORD = rf"[{_LETTER}+%&-]{{1,64}}"
_LABEL = rf"[{_LETTER}-]{{1,63}}"
_AT = (
    r"(?: {0,2}[\[({<*] {0,2}(?:at|@|a còng|собака|小老鼠|艾特) {0,2}[\])}>*] {0,2}"
    r"| {1,2}(?:at|at sign|@at@|a[ -]?c[òo]ng|собака|小老鼠|艾特) {1,2}|[_-]at[_-]|小老鼠|艾特"
    r"|[ \n]{1,2}@[ \n]{0,2}|[ \n]{0,2}@[ \n]{1,2}|@)"
)
_DOT = (
    r"(?: {0,2}[\[({<] {0,2}(?:dot|point|period|\.|chấm|cham|точка|тчк|點|点) {0,2}[\])}>] {0,2}"
    r"| {1,2}(?:dot|point|period|chấm|cham|точка|тчк|點|点) {1,2}|[_-]dot[_-]| \. |[點点。]|\.)"
)
CONNECTORS = words(
    "at sign @ @at@ còng cong acòng acong собака 小老鼠 小老 鼠 艾特 dot point period . chấm cham точка тчк 點 点 。"
)
"""The words of both, for who reads a text that is not finished."""

_PROVIDERS = "gmail|googlemail|yahoo|hotmail|outlook|icloud|protonmail|proton|yandex|rambler|qq|163|126"


class ObfuscatedEmailRecogniser:
    """Finds addresses that spell out @ and the dot, in en, vi, ru and zh, space them out, cut them short or turn them round.

    Such as `ann [at] example [dot] com`, `ann at example dot com`, `ann @ example.com`, `ann@gmail`, `moc.elpmaxe@nna`.
    """

    type = "EMAIL"

    HINTS = (
        "[at",
        "(at",
        "{at",
        "<at",
        "*at",
        "[ at",
        "( at",
        "@ ",
        " @",
        "@\n",
        "\n@",
        "[@",
        "(@",
        "_at_",
        "-at-",
        "@at@",
        "[соб",
        "(соб",
    )
    SPOKEN = (
        (
            ("@", " at ", "còng", "cong", "собака", "小老鼠", "艾特"),
            (" dot ", " point ", " period ", "dot)", "dot>", "dot]", "chấm", " cham "),
        ),
        (("@", " at ", "собака", "小老鼠", "艾特"), ("точка", "тчк", "點", "点", "。")),
    )
    """Words that have to come together; either alone is an ordinary one."""

    SPELLED = re.compile(
        rf"(?<![{_LETTER}+%&-]){_WORD}(?:{_DOT}{_WORD}){{0,3}}(?P<at>{_AT})"
        rf"(?P<domain>{_LABEL}(?:{_DOT}{_LABEL}){{0,3}}{_DOT}(?:{_TOP}))(?![A-Za-z0-9])",
        re.IGNORECASE,
    )

    BACKWARDS = re.compile(
        rf"(?<![A-Za-z0-9])(?:{'|'.join(top[::-1] for top in _TOP.split('|'))})(?:\.[A-Za-z0-9-]{{1,63}}){{1,4}}@[A-Za-z0-9._+-]{{1,64}}",
        re.IGNORECASE,
    )

    CUT_SHORT = re.compile(rf"(?<![A-Za-z0-9._+@-])[A-Za-z0-9._+-]{{2,64}}@(?:{_PROVIDERS})(?![\w@-])", re.IGNORECASE)
    """With a provider that everybody knows, and without its domain."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses."""
        lowered = view.lowered
        spoken = any(
            any(at in lowered for at in ats) and any(dot in lowered for dot in dots) for ats, dots in self.SPOKEN
        )
        if spoken or any(hint in lowered for hint in self.HINTS):
            for match in self.SPELLED.finditer(view.text):
                if self.validate(match):
                    yield match.span()
        if "@" in lowered:
            for pattern in (self.BACKWARDS, self.CUT_SHORT):
                yield from (match.span() for match in pattern.finditer(view.text))

    def validate(self, match: re.Match[str]) -> bool:
        """Reject "meet me at example.com", where a bare word for @ needs a word for the dot too, and what is not disguised."""
        if match["at"] == "@":
            return any(sign in match[0] for sign in " ([{<。點点\n") or "_dot_" in match[0] or "-dot-" in match[0]
        spoken = match["at"].strip().replace(" ", "").isalpha() and match["at"].startswith(" ")
        return not (spoken and "." in match["domain"]) or "sign" in match["at"] or "ng" in match["at"]

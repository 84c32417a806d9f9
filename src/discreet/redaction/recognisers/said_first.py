"""Passwords that stand before the words that tell them: "opensesame is my password"."""


# ruff: noqa: PLR2004 - no password has three characters

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.recognisers.runs import Hints
from discreet.redaction.recognisers.secrecy import looks_random, names_a_value
from discreet.redaction.view import Span, View

LEAST_WORD_CHARS = 6
"""An ASCII word of that many letters at the end of a Vietnamese, Russian or Chinese sentence is not the name of a thing."""
MOST_SPACES = 64
"""More between a sentence and the next begin a text. A bound, as looking back to the beginning each time isn't linear."""
TRAILING = ".,;:!?)]}\"'`»”」』’*|>"
"""What stands behind a value and isn't part of it."""


class SaidFirst:
    """Looks for the value in front of the words. A part of `SpokenSecretRecogniser`."""

    PATTERNS = (
        re.compile(
            r"(?<![A-Za-z])(?:use|with|enter|type) [\"'`“]?(?P<value>[!-~]{6,128})[\"'`”]? to (?:log|sign|unlock|access|connect|authenticate|decrypt)",
            re.IGNORECASE,
        ),
        re.compile(r"(?<![!-~])(?P<value>[!-~]{4,128})[\"'`”»]{0,2} (?:is|was|will be|as) (?:my|the|your|our|his|her)(?: [\w'-]{1,20}){0,3} (?:password|passcode|passphrase|pwd|(?:api|access|secret) (?:key|token)|token)(?![a-z])", re.IGNORECASE),
        re.compile(r"(?<![!-~])(?P<value>[!-~]{4,128})[\"'`”»]{0,2} là (?:mật khẩu|pass|mã token|api key|token)", re.IGNORECASE),
        re.compile(r"(?<![!-~])(?P<value>[!-~]{4,128})[\"'`”»]{0,2}[ ]{1,2}(?:- )?(?:это )?(?:мой|твой|ваш|наш)(?: \w{1,20}){0,2} (?:пароль|токен|ключ)", re.IGNORECASE),
        re.compile(r"(?<![!-~])(?P<value>[!-~]{4,128})[\"'`”»」]{0,2}[ ]?是(?:我|你|您|他|她)?們?们?的?\w{0,8}?(?:密碼|密码|口令|密钥|金鑰|令牌)"),
        re.compile(r"(?<![A-Za-z])(?:use|try|with|enter|type) [\"'`“]?(?P<value>[!-~]{4,128})[\"'`”]? (?:as|for) (?:my|the|your|our)(?: [\w'-]{1,20}){0,2} (?:password|passcode|passphrase|token|key)(?![a-z])", re.IGNORECASE),
    )  # fmt: skip

    HINTS = (
        Hints(" to log", " to sign", " to unl", " to acc", " to conn", " to auth", " to dec"),
        Hints("password", "passcode", "passphrase", "pwd", " key", " token"),
        Hints(" là "),
        Hints(" пароль", " токен", " ключ"),
        Hints("密碼", "密码", "口令", "密钥", "金鑰", "令牌"),
        Hints("password", "passcode", "passphrase", "pwd", " key", " token"),
    )
    """Words, one of which is in each match of the pattern in the same position."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all such passwords."""
        text = view.text
        for hints, pattern in zip(self.HINTS, self.PATTERNS, strict=True):
            for match in pattern.finditer(text) if hints.found_in(view) else ():
                value = match["value"].strip(TRAILING)
                if self.stands_before(match, value):
                    start = text.index(value, match.start("value"))
                    yield start, start + len(value)

    def stands_before(self, match: re.Match[str], value: str) -> bool:
        """Tell the password of "opensesame is my password" from "this is my password"."""
        text, start = match.string, match.start("value")
        if len(value) < 4 or not names_a_value(value) or text.startswith((" manager", " policy", "管理"), match.end()):
            return False
        if looks_random(value):
            return True
        before = text[max(0, start - MOST_SPACES) : start].rstrip()
        return len(value) >= LEAST_WORD_CHARS and value.islower() and (not before or before[-1] in ".:!?\n")

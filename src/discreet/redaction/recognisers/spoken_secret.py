"""Passwords that people tell: "my password is …" in English, Vietnamese, Russian and Chinese."""

# ruff: noqa: RUF001 - the words are written in their own letters

from __future__ import annotations

import re

from discreet.redaction.recognisers.base import PatternRecogniser
from discreet.redaction.recognisers.secrecy import looks_random, names_a_value

_VALUE = r"[\"'`«“「]{0,2}(?P<value>[!-~]{3,128}(?<![.,;:?)\"'`]))"
"""One word of ASCII, which is what people type as a password in every country, without the sentence's punctuation."""


class SpokenSecretRecogniser(PatternRecogniser):
    """Finds the word after "my password is"."""

    type = "SECRET"
    HINTS = (
        "pass",
        "pin",
        "otp",
        "key",
        "code",
        "token",
        "mật khẩu",
        "mã ",
        "парол",
        "код",
        "密碼",
        "密码",
        "口令",
        "驗證碼",
        "验证码",
    )

    PATTERNS = (
        re.compile(
            r"(?<![A-Za-z])(?:password|passcode|passphrase|pin|otp|(?:api|secret|access|verification|security)[ -](?:key|code|token))"
            r"(?: (?:code|number))?(?: (?:for|of|to|on)(?: \w{1,20}){1,3})?"
            r"(?P<verb> (?:is|was|will be)(?: now| still)?|:| to)[: ]{1,3}" + _VALUE,
            re.IGNORECASE,
        ),
        re.compile(
            r"(?:mật khẩu|mã pin|mã otp|mã bảo mật|mã xác nhận)(?: \w{1,12}){0,5}? (?P<verb>là|thành)[: ]{1,3}"
            + _VALUE,
            re.IGNORECASE,
        ),
        re.compile(
            r"(?:парол[ья]|пин-?код|код подтверждения)(?: \w{1,20}){0,3}?(?P<verb> ?[:-]| это| такой| теперь)?[: ]{1,3}"
            + _VALUE,
            re.IGNORECASE,
        ),
        re.compile(
            r"(?:密碼|密码|口令|驗證碼|验证码)(?:\w{0,6}?(?P<verb>是|為|为|改成|設成|设成))?[: ]{0,3}" + _VALUE,
            re.IGNORECASE,
        ),
    )

    END = re.compile(r"[\"'`»”」]{0,2}[ ]{0,3}(?:[.,;:?)。，！？\r\n]|\Z)")
    """What follows the last word of a sentence."""

    def validate(self, match: re.Match[str]) -> bool:
        """Tell a password from a sentence about one: "my password is too long", "пароль от Gmail"."""
        value = match["value"]
        if not names_a_value(value):
            return False
        if match["verb"] is None:
            return re.search("[0-9]", value) is not None
        return looks_random(value) or self.END.match(match.string, match.end()) is not None

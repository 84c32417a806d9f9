"""Passwords between a word for typing and one for a password: "use … as password", "tried … but it says wrong password"."""


# ruff: noqa: PLR2004 - a number of characters of a value

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.recognisers.runs import Hints
from discreet.redaction.recognisers.said_first import TRAILING
from discreet.redaction.recognisers.secrecy import looks_random, names_a_value
from discreet.redaction.view import Span, View

BRAND = re.compile(
    r"(?:g(?:oogle|mail|ithub|itlab)|facebook|fb|zalo|e?-?mail|icloud|apple|win(?:dows)?|netflix|insta(?:gram)?|tiktok|telegram|wechat|weixin|line|qq|vpn|ssh|root|admin|mysql|postgres"
    r"|wi-?fi|router|laptop|iphone|ipad|mac|android|outlook|yahoo|yandex|vk|steam|spotify|paypal|bitwarden|lastpass|keepass|server|app|web|online|id|api|twitter|discord|slack|zoom|skype|viber|whatsapp|excel|word|pdf|zip|database|db"
    r"|chrome|firefox|safari|touch|face|login|username|phone)",
    re.IGNORECASE,
)
"""What passwords are for."""

_OPEN, _CLOSE = r"[\"'`“«「]?", r"[\"'`”»」]?"
_MIXED = r"(?P<value>(?=[^\s!@#$%^&*_]{0,30}[!@#$%^&*_])(?=[^0-9\s]{0,30}[0-9])(?=[^A-Z\s]{0,30}[A-Z])[!-.0-~]{6,31})(?=[ .,)]{0,3}(?:[\r\n]|\Z))"
_VALUE = rf"{_OPEN}(?P<value>[!-~]{{4,64}}){_CLOSE}"


class TypedSecret:
    """Looks for the value between two words. A part of `SpokenSecretRecogniser`.

    Among words of other scripts, or with marks, a word of plain small letters is typed, too.
    """

    PATTERNS = (
        re.compile(rf"(?<![A-Za-z])(?:set (?:it|this|that|them) to|use|using|put|with|enter|type|try) {_VALUE} as (?:(?:the|my|your|our|a|its|new) ){{0,2}}(?:password|passcode|passphrase|pwd?|pass)(?![a-z])", re.IGNORECASE),
        re.compile(rf"(?<![A-Za-z])(?:tried|typed|entered|used|put in|try|type|enter) {_VALUE}[, ]{{1,2}}[^.!?\r\n\0]{{0,30}}?(?:wrong|incorrect|invalid|bad) (?:password|passcode|passphrase|pwd?|pass)(?![a-z])", re.IGNORECASE),
        re.compile(r"(?<![A-Za-z])what(?:'?s| is) (?:the|your) (?:wi-?fi|wlan|router)(?: (?:password|pw|pass|key|code))?\?[ \r\n]{1,3}(?:[>:-] ?)?(?P<value>[!-~]{6,64})(?=[ ]?(?:[\r\n]|\Z))", re.IGNORECASE),
        re.compile(r"(?<![A-Za-z])it(?:'?s| is) (?P<value>[!-~]{6,64}) \((?:the|my|our) (?:wi-?fi|wlan|router|login|netflix|account|zip|laptop|email|portal|vpn)(?: (?:one|password|pw|pass))?\)", re.IGNORECASE),
        re.compile(r"(?<![!-~])(?:admin|root)/" + _MIXED),
        re.compile(rf"(?<!\w)(?:dùng|xài|lấy|đặt|để|nhập|gõ) {_VALUE} (?:làm|là) (?:mật khẩu|mk|pass)(?![a-z])", re.IGNORECASE),
        re.compile(rf"(?<!\w)(?:thử|nhập|gõ|điền) {_VALUE}[, ]{{1,2}}[^.!?\r\n\0]{{0,24}}?(?:sai|không đúng|ko đúng) (?:mật khẩu|mk|pass)(?![a-z])", re.IGNORECASE),
        re.compile(rf"(?<!\w)(?:введи(?:те)?|используй(?:те)?|поставь(?:те)?|ставь|набери(?:те)?|поставил[аи]?|использую|впиши) {_VALUE} (?:как|в качестве) (?:\w{{1,12}} )?парол", re.IGNORECASE),
        re.compile(rf"(?<!\w)(?:пробовал[аи]?|попробовал[аи]?|пробую|ввела?|ввёл|вводил[аи]?|ввожу|набрал[аи]?|набираю) {_VALUE}[, ]{{1,3}}[^.!?\r\n\0]{{0,24}}?(?:невер|неправ)\w{{1,8}} парол", re.IGNORECASE),
        re.compile(rf"(?:用|把|以|拿|[输輸]入|填|[設设]成?) ?{_VALUE} ?(?:[作当當設设]?[作为為]|[当當做])(?:我的|你的|新|登[录入])?(?:密[碼码]|口令)(?![器管本])"),
        re.compile(rf"(?:[输輸]入?了?|[试試]了?|填了?|打了?) ?{_VALUE}[^A-Za-z。\r\n\0]{{0,10}}?密[碼码](?:[错錯]|不[对對正])"),
    )  # fmt: skip

    HINTS = (
        Hints(" passw", " passc", " passp", " pwd", " pw", "as pass", "my pass", "the pass"),
        Hints("wrong pa", "incorrect pa", "invalid pa", "bad pa", "wrong pw", "incorrect pw"),
        Hints("wifi", "wi-fi", "wlan", "router"),
        Hints("(the ", "(my ", "(our "),
        Hints("admin/", "root/"),
        Hints("làm mật", "làm mk", "làm pass", "là mật", "là mk"),
        Hints("sai mật", "sai mk", "đúng mật", "đúng mk", "sai pass", "đúng pass"),
        Hints("парол"),
        Hints("неверн", "неправ"),
        Hints("密码", "密碼", "口令"),
        Hints("密码错", "密码不", "密碼錯", "密碼不"),
    )
    """Words, one of which is in each match of the pattern in the same position."""

    UNNAMED = frozenset((2, 3, 4))
    """The positions of the patterns that need no word for a password."""
    UNNAMED_HINTS = Hints("wifi", "wi-fi", "wlan", "router", "admin/", "root/")
    BARE = re.compile(r"[A-Za-z][A-Za-z0-9._]{2,20}/" + _MIXED)
    """All of a message: `bob/Hunter_2`."""
    FIRST_FOREIGN = 5
    """The position of the first pattern of another language than English."""

    def spans(self, view: View, *, named: bool) -> Iterator[Span]:
        """Return the spans of all such passwords. `named` tells whether the text has words that name secrets."""
        text = view.text
        if "/" in text and (bare := self.BARE.match(text)):
            yield bare.span("value")
        foreign = not text.isascii()
        if not named and not self.UNNAMED_HINTS.found_in(view):
            return
        for position, (hints, pattern) in enumerate(zip(self.HINTS, self.PATTERNS, strict=True)):
            if position >= self.FIRST_FOREIGN and not foreign:
                return
            if not (named or position in self.UNNAMED) or not hints.found_in(view):
                continue
            for match in pattern.finditer(text):
                value = match["value"].rstrip(TRAILING)
                if self.is_typed(value, foreign=position >= self.FIRST_FOREIGN):
                    yield match.start("value"), match.start("value") + len(value)

    def is_typed(self, value: str, *, foreign: bool) -> bool:
        """Tell a password from the name of a thing, in a sentence that is about one."""
        if len(value) < 4 or not names_a_value(value) or BRAND.fullmatch(value.rstrip("0123456789")):
            return False
        return looks_random(value) or (foreign and len(value) > 4 and value.islower() and value.isalpha())

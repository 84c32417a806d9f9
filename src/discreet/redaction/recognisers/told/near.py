"""What looks like a password in a text that speaks of one."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import BLANK, Span, View
from discreet.redaction.recognisers.told.names import SECRETS
from discreet.redaction.recognisers.told.password import NAME
from discreet.redaction.recognisers.told.programs import is_program
from discreet.redaction.recognisers.told.values import FAMOUS, NAMED_THING, TRAILING, looks_random, names_a_value
from discreet.redaction.word_set import small
from discreet.redaction.words import any_of, whole, words

REACH = 140
"""Characters between a word for a password and what looks like one."""

TOKEN = lazy(
    r"(?<![!-~])[\"'`(\[«“„]{0,2}(?P<value>[!#-&*+.0-9A-Za-z~^_-][!-~]{5,47})(?![!-~])"
    r"|(?<![!-~])(?P<glued>[A-Za-z][!#-&*+.0-9A-Z_a-z~^-]{5,47})(?=[^\x00-\x7f])"
)
SIGNS = frozenset("!@#$%^&*?")
SURE = lazy(
    r"(?<![!-~])[\"'`«“]?(?P<value>(?=[!-~]{0,30}[0-9])(?=[!-~]{0,30}[a-z])(?=[!-~]{0,30}[A-Z])(?=[A-Za-z0-9]{1,24}[!@#$%^&*][A-Za-z0-9]"
    r"|[A-Z][a-z]{2,14}[0-9]{2,6}[!@#$%&*?])[A-Za-z0-9!@#$%^&*?_-]{8,32})(?![^\s\"'`.,;:»”)\u0080-\uffff])"
)
"""With capitals, small letters, digits and a sign: nothing else is written so."""
PASSWORD = lazy(
    r"[a-z]{3,20}[0-9]{2,8}[!@#$%&*?]{0,2}"  # sunshine42
    r"|(?=[^0-9]{0,30}[0-9])(?=[^A-Za-z]{0,30}[A-Za-z])(?=.{0,30}[!@#$%^&*?])[!-~]{6,48}"  # letters, digits and signs
    r"|(?=[^0-9]{0,30}[0-9])(?=[^a-z]{0,30}[a-z])(?=[^A-Z]{0,30}[A-Z])(?=(?:[A-Z][a-z]+|[a-z]+"
    r"|[A-Z]+)[0-9_-]{1,5}[A-Za-z])[A-Za-z0-9_-]{8,48}"  # qT7mZ2k9, castle_Silver68
    r"|(?=[^_]{3,12}_[A-Z])[A-Za-z]{3,12}_[A-Z][a-z]{2,12}[0-9]{1,4}"
    r"|[A-Z][a-z]{2,15}[0-9]{2,6}[!@#$%&*?]{1,2}"  # Summer2024!
    r"|(?!(?:[a-z]{2,12}-){0,3}(?:and|the|for|with|end|one|two|day|per|non|pre|sub|all|not|was|app"
    r"|dev)-)[a-z]{4,10}(?:-[a-z]{4,10}){2,5}"  # four-plain-words
)
"""How people make passwords."""
OTHERWISE = lazy(
    r".*%[0-9a-f]{2}.*|[0-9.]+%.*|0x[0-9a-f]{1,16}|(?:md|sha)[0-9]{1,3}sum|(?:k[0-9]{1,2})?p[0-9]{1,2}"
    r"|[a-z]{0,3}[$€£¥][0-9.,]+k?|\w+@[\w.-]+:[~/].*|(?:19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}[t_].*"
    r"|.*(?:://|@[a-z0-9-]+\.|\.(?:com|org|net|io|dev|py|js|ts|json|md|txt|html?|ya?ml|toml|env|pdf|docx?|xlsx?"
    r"|png|jpe?g|zip|sh|go|rs|java)(?![a-z]))"  # addresses and files
    r"|(?:sha|md|aes|rsa|base|utf|iso|wpa|http|html|css|oauth|ipv|tls|ssl|mp|h|x|web|log|k|ed|blake|argon|bcrypt"
    r"|rfc|cve|python|node|java|windows|win|iphone|ipad|ios|android|macos|office|office365|chrome|firefox"
    r"|excel|access|outlook|photoshop|autocad|matlab|revit|unity"
    r"|number|num|code|word|name|fact|msg|message|question|answer|task|job|run|case|example|sample|demo"
    r"|foo|bar|baz|qux|version|level|step|part|chapter|room|page|item|test|line|row|col|column|field|param"
    r"|var|arg|table|figure"
    r"|section|topic|week|day|group|team|user|covid|sars|ubuntu|debian|postgres|mysql|php|ruby|vue"
    r"|angular|react|es|ecma|pci|gdpr|usb|hdmi|wifi|nist|fips|pbkdf|scrypt|ecdsa|secp|curve|chacha|poly|sm|des"
    r"|rc|crc|uuid|v|ver|rev|release|build|port|http2|top|season|episode|ep|tcp|udp|vlan|eth|en|wlan|sda|ec"
    r"|s)[_-]?[0-9.]{1,6}[a-z]?"
    r"|#[0-9a-f]{3,8}|[#@]\w+|\$\{?\w+\}?|%\w+%|.*[(){}\[\]<>=;|\\\"`].*|--?[a-z][a-z0-9-]+|[a-z0-9]+(?:[._-][a-z0-9]+)*-?[0-9]{1,2}\.[0-9.]+",
    re.IGNORECASE,
)
"""Names that have the form of a password."""
OF_USER = lazy(
    rf"{whole(words('secret', 'user'))}[ \"'`»”]{{0,2}}(?:(?:[^\W\d_]{{1,12}} ){{0,3}}(?:{any_of(words('telling', 'is'))}))?[ :=\"'`«“-]{{0,4}}\Z"
)
"""What stands before the name of who logs in."""


MASKED = lazy(rf"(?:{BLANK}|\*{{3,12}}|\[[A-Za-z _]{{3,20}}\]|<[A-Z_]{{3,20}}>|█{{2,12}})[ ]?(?P<value>[!-~]{{4,40}})")
FIELD = lazy(r"[A-Za-z_][\w.-]{1,40}[=:]")
"""The name of the next one."""
NAMED_BEFORE = lazy(rf"{whole(words('secret', 'password', 'weak'))}[^.!?\n]{{0,20}}\Z")
"""A word for a password before something masked."""


class NearRecogniser:
    """Finds words that have the form of a password in the paragraph of a word for one, on either side of it.

    A sentence may say it in more ways than can be listed: "type … and that's the passphrase", "there it was …, now it's …".
    """

    type = "SECRET"

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all such words."""
        lowered = view.derived(small)
        spots = [spot for spot in SECRETS.places(view) if (name := NAME.match(lowered, spot)) and not name["key"]]
        text = view.text
        yield from (
            ()
            if SIGNS.isdisjoint(text)
            else (
                match.span("value")
                for match in SURE.finditer(text)
                if is_password(match["value"]) and not is_program(text, *match.span("value"))
            )
        )
        if not spots:
            return
        if BLANK in text or "***" in text or "[" in text or "<" in text:
            yield from beside_mask(text, lowered)
        for first, last in _around(spots, len(text)):
            for match in TOKEN.finditer(text, first, last):
                start = match.start(match.lastgroup or 0)
                value = match[match.lastgroup or 0].rstrip(TRAILING.replace("*", "").replace("!", "").replace("?", ""))
                if is_password(value) and self.is_told(text, lowered, start, start + len(value), spots):
                    yield start, start + len(value)

    def is_told(self, text: str, lowered: str, start: int, end: int, spots: list[int]) -> bool:
        """Tell whether the paragraph is about a password, and the word no user's name nor part of a program."""
        place = bisect_left(spots, start)
        near = [spot for spot in spots[max(0, place - 1) : place + 1] if abs(spot - start) <= REACH]
        if not any("\n\n" not in text[min(spot, start) : max(spot, start)] for spot in near):
            return False
        if OF_USER.search(lowered, max(0, start - 40), start):
            return False
        return not is_program(text, start, end)


def _around(spots: list[int], size: int) -> Iterator[Span]:
    """Return what is near `spots`, in order and apart."""
    first, last = max(0, spots[0] - REACH), spots[0] + REACH
    for spot in spots[1:]:
        if spot - REACH > last:
            yield first, min(size, last)
            first = spot - REACH
        last = spot + REACH
    yield first, min(size, last)


def beside_mask(text: str, lowered: str) -> Iterator[Span]:
    """Yield the spans of what stands right behind a password that is masked already: `password: <SECRET> hunter2`."""
    for match in MASKED.finditer(text):
        told = NAMED_BEFORE.search(lowered, max(0, match.start() - 32), match.start())
        value = match["value"].rstrip(".,;:)\"'")
        if told and looks_random(value) and names_a_value(value) and not FIELD.match(value):
            yield match.start("value"), match.start("value") + len(value)


def is_password(value: str) -> bool:
    """Tell whether people make passwords so."""
    return (
        PASSWORD.fullmatch(value) is not None
        and not OTHERWISE.fullmatch(value)
        and not NAMED_THING.fullmatch(value.rstrip("!?"))
        and not FAMOUS.fullmatch(value.lower())
        and names_a_value(value)
    )

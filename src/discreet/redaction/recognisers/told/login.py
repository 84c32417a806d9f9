"""Passwords behind the name of who logs in: "login: bob / hunter2"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.told.names import SECRETS
from discreet.redaction.recognisers.told.password import NAME, THEN
from discreet.redaction.recognisers.told.programs import is_program
from discreet.redaction.recognisers.told.values import BRAND, TRAILING, looks_random, names_a_value
from discreet.redaction.recognisers.windows import Windows
from discreet.redaction.word_set import small
from discreet.redaction.words import any_of, words

LEAST_CHARS = 4
CODE_DIGITS = range(6, 11)
MOST_CHARS = 120
LOOKED_AT_BEFORE = 16
LOOKED_AT_BEHIND = MOST_CHARS + 80

_IS = any_of(
    (
        *(" " + word for word in words("telling", "is", spaced=True)),
        "'s",
        ":",
        "=",
        *words("telling", "is", spaced=False),
    )
)
PAIR = lazy(
    rf"(?: details| info)?(?P<by> with| using| bằng| với)?(?:{_IS})?[ :]{{0,3}}(?P<user>[a-z0-9._@+-]{{2,60}})"
    r"(?:[ ]{0,2}(?P<sign>[/:|]|,(?= ))[ ]{0,2}|[ ]{1,2}(?:and |with |и |và |und |et |y |e |en |i |ve |dan )?)"
    rf"(?:{any_of(words('secret', 'password', 'weak'))}[ :=]{{1,3}}|)(?P<value>[!-~]{{4,100}})"
)
"""`bob / hunter2`, after "login" or "creds", for text in small letters."""
NO_USER = lazy(
    r"(?:page|form|screen|button|and|or|is|was|not|to|the|failed|error|user|name|username|password|at|with|via|for|time|date"
    r"|e-?mail|phone|read|write|role|id|log(?:in|out)|sign(?:in|up|out)|register|google|github|facebook|apple|admin|settings)",
    re.IGNORECASE,
)
DETAILS = lazy(r"details|info|creds?|credentials?")
UNUSUAL = lazy(r"[0-9]|[^\w\s'’/,;:.-]")
AMOUNT = lazy(r"[0-9]+(?:ms|s|m|h|kb|mb|gb|%|k)")
END = lazy(r"[ .]{0,3}(?:[\r\n]|\Z)")
"""What follows `bob: hunter`; `User: Ann: Thanks, that helps` is a transcript."""
FIELD = lazy(r"[A-Za-z_]{2,20}=[^=]|[0-9]{1,3}(?:\.[0-9]{1,3}){3}\Z")
"""The next field of a log, or an address: `user=ann action=login`."""
_MIXED = r"(?P<value>(?=[^\s!@#$%^&*_]{0,30}[!@#$%^&*_])(?=[^0-9\s]{0,30}[0-9])(?=[^A-Z\s]{0,30}[A-Z])[!-.0-~]{6,31})(?=[ .,)]{0,3}(?:[\r\n]|\Z))"
OF_ADMIN = lazy(r"(?<![!-~])(?:admin|root)/" + _MIXED)
BARE = lazy(r"[A-Za-z][A-Za-z0-9._]{2,20}/" + _MIXED)
"""All of a message: `bob/Hunter_2`."""


class LoginRecogniser:
    """Finds the password of a pair that a word such as "login" announces, or that is all of a message."""

    type = "SECRET"

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all such passwords."""
        text = view.text
        if "/" in text:
            if bare := BARE.match(text):
                yield bare.span("value")
            if "admin/" in text or "root/" in text:
                yield from (match.span("value") for match in OF_ADMIN.finditer(text))
        spots = SECRETS.places(view)
        if not spots:
            return
        lowered = view.derived(small)
        pairs = Windows(
            text, lambda text, spot: look(text, lowered, spot), before=LOOKED_AT_BEFORE, behind=LOOKED_AT_BEHIND
        )
        for spot in spots:
            if found := pairs.at(spot):
                yield spot + found[0], spot + found[1]


def look(text: str, lowered: str, spot: int) -> Span | None:
    """Return the span of the password of the pair that is announced at `spot`, from there on, or None."""
    name = NAME.match(lowered, spot)
    if name is None or not name["login"]:
        return None
    found = password_of_pair(text, lowered, name.end())
    if found and is_program(text, *found):
        return None
    return found and (found[0] - spot, found[1] - spot)


def password_of_pair(text: str, lowered: str, start: int) -> Span | None:
    """Return the span of the password in `login: bob / hunter2`, behind the word."""
    pair = PAIR.match(lowered, start, min(len(text), start + MOST_CHARS))
    if pair is None:
        return None
    first = pair.start("value")
    value = text[first : pair.end("value")].rstrip(TRAILING)
    if not is_pair(pair, value):
        return None
    listed = pair["sign"] == ","
    if listed and not (DETAILS.search(lowered, max(0, start - 12), pair.start("user")) and looks_random(value)):
        return None
    if value.isdigit() and "pass" not in pair[0]:
        told = len(value) in CODE_DIGITS and (pair["by"] or pair["sign"] == "/")
    else:
        named = NO_USER.fullmatch(pair["user"]) or NO_USER.fullmatch(value)
        then = END if pair["sign"] == ":" else THEN
        told = looks_random(value) or (pair["sign"] and not named and then.match(lowered, first + len(value)))
    return (first, first + len(value)) if told else None


def is_pair(pair: re.Match[str], value: str) -> bool:
    """Tell a user and a password from an address, a path or the next words of a sentence."""
    user = pair["user"]
    if len(value) < LEAST_CHARS or not names_a_value(value) or value.startswith(("/", "~/")):
        return False
    if user in ("http", "https", *words("telling", "is")) or user.startswith(("password", "pass@", "pwd")):
        return False
    if FIELD.match(value) or AMOUNT.fullmatch(value) or BRAND.fullmatch(value):
        return False
    return not (pair["by"] and (pair["sign"] or BRAND.fullmatch(user) or not UNUSUAL.search(value)))

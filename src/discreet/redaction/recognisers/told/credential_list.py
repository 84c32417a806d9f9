"""Passwords behind the address of who logs in, in lists that programs and thieves write: `ann@example.com:hunter2`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.told.values import looks_random, names_a_value

LEAST_LINES = 2
"""Lines of a list in which a word is a password, too."""
LEAST_CHARS = 4

LINE = lazy(
    r"(?:^|(?<=[\s\"']))[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}[\"']?(?P<sign>[:;|]|-{2,6}"
    r"|,)[\"']?(?P<value>[!-~]{4,64}?)(?=[\"']?(?:[;,|\s]|\Z))",
    re.MULTILINE,
)
PGPASS = lazy(r"^[\w.*-]{1,80}:(?:[0-9]{2,5}|\*):[\w.*-]{1,64}:[\w.*-]{1,64}:(?P<value>[!-~]{3,128})$", re.MULTILINE)
"""https://www.postgresql.org/docs/current/libpq-pgpass.html"""
OTHERWISE = lazy(r"[0-9]{1,5}(?:/.*)?|[\w.-]+@.*|\+?[0-9][0-9 ()./-]{5,}|.*://.*|[\w./~-]*/[\w./~-]*\$?|~\$?")
"""A port, an address, a telephone number, a path."""


class CredentialListRecogniser:
    """Finds what follows an address and a colon, and the last field of PostgreSQL's file of passwords."""

    type = "SECRET"

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all such passwords."""
        text = view.text
        if "@" in text:
            found = [match for match in LINE.finditer(text) if is_password(match["value"])]
            for match in found:
                listed = len(found) >= LEAST_LINES and match["sign"] != ","
                if listed or looks_random(match["value"]):
                    yield match.span("value")
        if ":" in text:
            yield from (match.span("value") for match in PGPASS.finditer(text) if names_a_value(match["value"]))


def is_password(value: str) -> bool:
    """Tell a password from what else is written behind an address."""
    return len(value) >= LEAST_CHARS and names_a_value(value) and not OTHERWISE.fullmatch(value)

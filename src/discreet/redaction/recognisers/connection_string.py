"""Connection strings with a password: URLs with user information, and `key=value;` pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.told.values import names_a_value

SCHEME_SHARE = 0.2
"""Most of a string that may stay readable: a secret is gone when four fifths of its letters and digits are."""


EXAMPLE = lazy(
    r"(?:(?P<same>guest|postgres|root|admin|user|test|app):(?P=same)|user(?:name)?:pass(?:word)?"
    r"|[\w-]{1,20}:(?:password|passwd|pass|secret|example|changeme))@(?:localhost|127\.0\.0\.1|host|hostname|db"
    r"|example\.[a-z]{3})(?![\w.-])",
    re.IGNORECASE,
)
"""What documentation has there."""


class ConnectionStringRecogniser:
    """Finds `scheme://user:password@host/path` (RFC 3986, section 3.2.1), ODBC and ADO.NET strings.

    User, host and database go with the password, as they tell where it fits; only the scheme stays, if it is short.
    """

    type = "SECRET"

    URL = lazy(
        r"(?<![A-Za-z0-9])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{1,30}://)"
        r"(?P<rest>[^\s/:@\"'`<>\0]{0,128}:(?![0-9]{1,5}[/?#])(?P<password>[^\s@\"'`<>\0]{1,256})@(?=[\w\[.-])"
        r"[!#-&(-;=?-_a-~]{1,1000}+)"
    )
    TRAILING = ".,;:!?)]}*_~|\\"
    """What ends a sentence or the markup around a URL rather than the URL."""

    ORACLE = lazy(
        r"(?:thin:|sqlplus )[A-Za-z0-9_]{1,64}/(?P<rest>(?P<password>[^\s@/\"'<>\0]{1,128})@[!#-&(-;=?-_a-~]{1,300}+)"
    )

    PAIRS = lazy(
        r"(?<![A-Za-z])(?:[A-Za-z]{2,30}(?: (?:id|source|catalog|security|timeout|info|name|address))? ?= ?"
        r"(?:\{[^{}\r\n\0]{0,200}\}|[^;\s\"'<>\0]{0,400}+) ?; ?){1,30}+"
        r"(?:[A-Za-z]{2,30}(?: (?:id|source|catalog|security|timeout|info|name|address))? ?= ?[^;\s\"'<>\0]{1,400}+)?",
        re.IGNORECASE,
    )
    SECRET_PAIR = lazy(
        r"(?:password|pwd|accountkey|sharedaccesskey|sharedaccesssignature|accesskey) ?= ?(?P<password>[^;\s\"'<>\0]{1,400})",
        re.IGNORECASE,
    )

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all strings that have a literal password."""
        text = view.text
        if "://" in text or "thin:" in text or "sqlplus" in text:
            for pattern in (self.URL, self.ORACLE):
                for match in pattern.finditer(text):
                    if EXAMPLE.match(match["rest"]):
                        continue
                    if names_a_value(match["password"]) or len(match["password"]) == 1:
                        yield self.without_scheme(match)
        if (
            ";" in text
            and "=" in text
            and any(hint in view.lowered for hint in ("password", "pwd", "access", "accountkey"))
        ):
            for match in self.PAIRS.finditer(text):
                secret = self.SECRET_PAIR.search(match[0])
                if secret and match[0].count("=") > 1 and names_a_value(secret["password"]):
                    yield match.span()

    def without_scheme(self, match: re.Match[str]) -> Span:
        """Return the span of a URL without what follows it and, if that is little, without its scheme."""
        end = match.start() + len(
            match[0].rstrip(self.TRAILING if "[" not in match[0] else self.TRAILING.replace("]", ""))
        )
        scheme = sum(map(str.isalnum, match.string[match.start() : match.start("rest")]))
        rest = sum(map(str.isalnum, match.string[match.start("rest") : end]))
        return match.start("rest") if scheme <= SCHEME_SHARE * (scheme + rest) else match.start(), end

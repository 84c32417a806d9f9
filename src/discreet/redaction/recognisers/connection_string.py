"""Passwords in the user information of a URL."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.base import PatternRecogniser
from discreet.redaction.recognisers.secrecy import names_a_value


class ConnectionStringRecogniser(PatternRecogniser):
    """Finds `scheme://user:password@host` (RFC 3986, section 3.2.1); only the password is the value."""

    type = "SECRET"
    HINTS = ("://",)

    PATTERNS = (re.compile(r"[A-Za-z0-9+.-]://[^\s/:@\"'<>\0]{0,128}:(?P<value>[^\s/@\"'<>\0]{1,256})@(?=[\w\[.-])"),)

    def validate(self, match: re.Match[str]) -> bool:
        """Reject references such as `${DB_PASSWORD}`."""
        return names_a_value(match["value"]) or len(match["value"]) == 1

"""Credentials in HTTP authorization headers."""

from __future__ import annotations

import base64
import binascii
import re

from discreet.redaction.recognisers.base import PatternRecogniser
from discreet.redaction.recognisers.secrecy import looks_random

LEAST_BEARER_CHARS = 16
"""Shorter words after "bearer" are English."""


class AuthorizationRecogniser(PatternRecogniser):
    """Finds what follows `Bearer` and `Basic`, with the header's name or without (RFC 6750, RFC 7617)."""

    type = "SECRET"
    HINTS = ("bearer", "basic", "token")

    PATTERNS = (
        re.compile(
            r"(?<![A-Za-z])(?P<header>authorization[\"']?[ ]{0,3}[:=][ ]{0,3}[\"']?)?(?P<scheme>bearer|basic|token)[ ]{1,3}"
            r"(?P<value>[A-Za-z0-9._~+/-]{6,16000}={0,2})",
            re.IGNORECASE,
        ),
    )

    def validate(self, match: re.Match[str]) -> bool:
        """Tell credentials from prose such as "basic authentication" and "token exchange"."""
        value = match["value"]
        if match["header"]:
            return True
        if match["scheme"].lower() == "basic":
            return _is_basic(value)
        return len(value) >= LEAST_BEARER_CHARS and looks_random(value)


def _is_basic(value: str) -> bool:
    try:
        return b":" in base64.b64decode(value, validate=True)
    except binascii.Error:
        return False

"""Addresses of network cards."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.base import PatternRecogniser


class MacRecogniser(PatternRecogniser):
    """Finds six pairs of hexadecimal digits, or three groups of four (IEEE 802-2014, section 8.1)."""

    type = "MAC"
    PATTERNS = (
        re.compile(r"(?<![0-9A-Fa-f:.-])[0-9A-Fa-f]{2}(?P<sign>[:-])(?:[0-9A-Fa-f]{2}(?P=sign)){4}[0-9A-Fa-f]{2}(?![0-9A-Fa-f]|[:.-][0-9A-Fa-f])"),
        re.compile(r"(?<![0-9A-Fa-f:.-])[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}(?![0-9A-Fa-f]|[:.-][0-9A-Fa-f])"),
    )  # fmt: skip
    HINTS = (":", "-", ".")
    NOBODY = frozenset(("0" * 12, "f" * 12))

    def validate(self, match: re.Match[str]) -> bool:
        """Reject broadcast addresses, and dates and numbers that only have digits."""
        bare = match[0].translate({ord(sign): None for sign in ":-."}).lower()
        return bare not in self.NOBODY and (not bare.isdigit() or ":" in match[0])

"""Addresses of network cards."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.base import PatternRecogniser

QUARTERS = lazy("[0-9A-Fa-f]{4}[.][0-9A-Fa-f]{4}[.]")


class MacRecogniser(PatternRecogniser):
    """Finds six pairs of hexadecimal digits, or three groups of four (IEEE 802-2014, section 8.1)."""

    type = "MAC"
    PATTERNS = (
        lazy(r"(?<![0-9A-Fa-f:.-])[0-9A-Fa-f]{2}(?P<sign>[:-])(?:[0-9A-Fa-f]{2}(?P=sign)){4}[0-9A-Fa-f]{2}(?![0-9A-Fa-f]|[:.-][0-9A-Fa-f])"),
        lazy(r"(?<![0-9A-Fa-f:.-])[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}(?![0-9A-Fa-f]|[:.-][0-9A-Fa-f])"),
    )  # fmt: skip
    NAMED = lazy(
        r"(?i:mac|мак|网卡)[- ]?(?i:адрес|address|地址|adresse?|アドレス|주소)?[^0-9A-Za-z\n]{1,6}(?P<value>(?=[0-9A-Fa-f]{0,11}[0-9])[0-9A-Fa-f]{12})(?![0-9A-Za-z])"
    )
    """Without signs, behind its name."""
    HINTS = (":", "-", ".")
    LEAST_SIGNS = 5
    NOBODY = frozenset(("0" * 12, "f" * 12))

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all addresses, of which short text rarely has the signs."""
        text = view.text
        if text.count(":") >= self.LEAST_SIGNS or text.count("-") >= self.LEAST_SIGNS or QUARTERS.search(text):
            yield from super().spans(view)
        if "mac" in view.lowered or "мак" in view.lowered or "网卡" in text:
            yield from (match.span("value") for match in self.NAMED.finditer(text))

    def validate(self, match: re.Match[str]) -> bool:
        """Reject broadcast addresses, and dates and numbers that only have digits."""
        bare = match[0].translate({ord(sign): None for sign in ":-."}).lower()
        return bare not in self.NOBODY and (not bare.isdigit() or ":" in match[0])

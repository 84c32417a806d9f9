"""Serial numbers of mobile phones."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.recognisers.card import has_check_digit
from discreet.redaction.recognisers.runs import small
from discreet.redaction.view import Span, View

NEAR = 48
IMEI_DIGITS = 15
SURE = re.compile(r"[0-9]{2}-[0-9]{6}-[0-9]{6}-[0-9]")
"""As 3GPP TS 23.003 groups it, which hardly anything else is."""


class ImeiRecogniser:
    """Finds fifteen digits, or sixteen with the version of the software, near the word IMEI."""

    type = "IMEI"
    FORM = re.compile(r"(?<![\w.-])[0-9](?:[ /-]{0,2}[0-9]){13,15}(?![\w]|[.-][0-9])")

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all such numbers."""
        text, lowered = view.text, view.derived(small)
        if "imei" not in lowered and "-" not in text:
            return
        for match in self.FORM.finditer(text):
            named = "imei" in lowered[max(0, match.start() - NEAR) : match.end() + NEAR]
            digits = "".join(filter(str.isdigit, match[0]))
            if named or (SURE.fullmatch(match[0]) and len(digits) == IMEI_DIGITS and has_check_digit(digits)):
                yield match.span()

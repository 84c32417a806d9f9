"""Serial numbers of mobile phones."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.card import has_check_digit
from discreet.redaction.word_set import small

NEAR = 48
IMEI_DIGITS = 15
WORDS = lazy("imei|имей|имеи|имэй|串号|串號|số máy")
SURE = lazy(r"[0-9]{2}-[0-9]{6}-[0-9]{6}-[0-9]")
"""As 3GPP TS 23.003 groups it, which hardly anything else is."""


class ImeiRecogniser:
    """Finds fifteen digits, or sixteen with the version of the software, near the word IMEI."""

    type = "IMEI"
    LEAST_DIGITS = 14
    FORM = lazy(r"(?<![0-9A-Za-z_.-])[0-9](?:[ /-]{0,2}[0-9]){13,15}(?![0-9A-Za-z_]|[.-][0-9])")

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all such numbers."""
        text, lowered = view.text, view.derived(small)
        if not WORDS.search(lowered) and "-" not in text:
            return
        for match in self.FORM.finditer(text):
            named = WORDS.search(lowered, max(0, match.start() - NEAR), match.end() + NEAR) is not None
            digits = "".join(filter(str.isdigit, match[0]))
            if named or (SURE.fullmatch(match[0]) and len(digits) == IMEI_DIGITS and has_check_digit(digits)):
                yield match.span()

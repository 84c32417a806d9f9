"""Dates of birth, beside the words for them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from discreet.redaction.recognisers.labelled.base import LabelledRecogniser
from discreet.redaction.words import words

_YEAR = r"(?:19|20)[0-9]{2}"
_SHORT = r"(?:(?:19|20)?[0-9]{2})"
_MONTH = r"(?:[^\W\d_]{3,12}\.?)"


MOST_WORDS = 3


class BirthDateRecogniser(LabelledRecogniser):
    """Finds a day with its year behind "born", "date of birth", "ngày sinh", "дата рождения", "生日" and the like."""

    type = "BIRTH_DATE"
    VALUE = re.compile(
        rf"(?<![0-9A-Za-z_./-])(?:{_YEAR}[-/.]\s?[0-9]{{1,2}}[-/.]\s?[0-9]{{1,2}}|[0-9]{{1,2}}\s?[-/.]\s?[0-9]{{1,2}}\s?[-/.]\s?{_SHORT}|{_YEAR} ?[年년]\s?[0-9]{{1,2}} ?[月월]\s?[0-9]{{1,2}} ?[日号號일]?"
        rf"|[0-9]{{1,2}}(?:st|nd|rd|th|er|º|\.)? ?(?:de |of |tháng )?(?:{_MONTH}|[0-9]{{1,2}})(?: de| del|,| năm)? {_YEAR}(?: года| г\.)?|[A-Z][a-z]{{2,8}} [0-9]{{1,2}}(?:st|nd|rd|th)?,? {_YEAR}|(?:民國|民国|昭和|平成|令和) ?[0-9]{{1,3}} ?年\s?[0-9]{{1,2}} ?月\s?[0-9]{{1,2}} ?日"
        r"|(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])|[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01]))(?![0-9]|[./-][0-9])"
    )

    def names(self) -> Iterable[str]:
        """Return the words for a birth."""
        return words("identity", "born")

    def valid(self, value: str, gap: str) -> bool:
        """Take what has the form of a date; six digits or eight need nothing but a sign between."""
        if len(gap.split()) > MOST_WORDS:
            return False
        return not value.isdigit() or len(gap.strip(" :=-は는이")) == 0 or "生年月日" in gap

"""Dates of birth, beside the words for them."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.labelled.base import Labelled, LabelledRecogniser
from discreet.redaction.word_index import Kinds

_YEAR = r"(?:19|20)[0-9]{2}"
_SHORT = r"(?:(?:19|20)?[0-9]{2})"
_MONTH = r"(?:[^\s\d.,;:/-]{3,14}\.?)"


MOST_WORDS = 3
"""Behind a word such as "born", which is in other sentences, too."""
LEAST_CHARS_OF_DATE = 8
"""Letters of a word that names a date of birth."""


class BirthDateRecogniser(LabelledRecogniser):
    """Finds a day with its year behind "born", "date of birth", "ngày sinh", "дата рождения", "生日" and the like."""

    type = "BIRTH_DATE"
    DATED = True
    NAMES = Kinds("identity", "born")
    LEAST_DIGITS = 3
    VALUE = lazy(
        rf"(?<![0-9A-Za-z_./-])(?:{_YEAR}[-/.]\s?[0-9]{{1,2}}[-/.]\s?[0-9]{{1,2}}"
        rf"|[0-9]{{1,2}}\s?[-/.]\s?[0-9]{{1,2}}\s?[-/.]\s?{_SHORT}|(?:{_YEAR}"
        rf"|[0-9]{{2}}) ?[年년]\s?[0-9]{{1,2}} ?[月월]\s?[0-9]{{1,2}} ?[日号號일]?"
        rf"|[0-9]{{1,2}}(?:st|nd|rd|th|er|º|\.)? ?(?:de |of |tháng )?(?:{_MONTH}|[0-9]{{1,2}})(?: de| del|,"
        rf"| năm| พ\.ศ\.)? (?:{_YEAR}|25[0-9]{{2}})(?: года| г\.)?|[0-9]{{1,2}} ?(?:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC) ?{_SHORT}"
        rf"|[0-9]{{1,2}} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{{0,6}}\.? [0-9]{{2}}(?![0-9])|[0-9]{{1,2}}/[0-9]{{1,2}}/25[0-9]{{2}}"
        rf"|[A-Z][a-z]{{2,8}} [0-9]{{1,2}}(?:st|nd|rd|th)?,? {_YEAR}|(?:民國|民国|昭和|平成"
        rf"|令和) ?[0-9]{{1,3}} ?年\s?[0-9]{{1,2}} ?月\s?[0-9]{{1,2}} ?日"
        r"|(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])|[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01]))(?![0-9]|[./-][0-9])"
    )

    BORN_BEHIND = lazy(
        r"[ ]?(?:生(?:まれ)?(?![^\W\d_]*[活产產意命日效成前后後])|생(?:이|일|입|인|,|\.|\s|\Z)|(?:г\. ?р\.|года рождения|doğumlu[^\W\d_]{0,4}|geboren"
        r"|geb\.|hat (?:sie|er) Geburtstag|born|nato|nata|né|née|urodzony|urodzona)(?![^\W\d_]))"
    )
    """A date, and what is said of it behind."""

    BORN = lazy(r"[0-9日号號일][ ]?(?:生|생)|г\. ?р\.|года рождения|[0-9] (?:doğumlu|geb|hat|born|nat|né|uro)")

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all dates of birth."""
        yield from super().spans(view)
        if self.BORN.search(view.text):
            yield from (
                match.span()
                for match in self.VALUE.finditer(view.text)
                if self.BORN_BEHIND.match(view.text, match.end())
            )

    def valid(self, found: Labelled) -> bool:
        """Take what has the form of a date; six digits or eight need nothing but a sign between."""
        named = len(found.name) >= LEAST_CHARS_OF_DATE or not found.name.isascii()
        if found.words_between > MOST_WORDS and not named:
            return False
        return not found.value.isdigit() or not found.gap.strip(" :=-は는이")

"""Number plates of vehicles."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.labelled.base import DIGIT, Labelled, LabelledRecogniser
from discreet.redaction.word_index import Kinds

MOST_WORDS = 4
CHARS = range(4, 12)
_RUSSIAN = "АВЕКМНОРСТУХABEKMHOPCTYXавекмнорстух"

SURE = lazy(
    rf"(?<![0-9A-Za-zА-Яа-я_])(?:[{_RUSSIAN}] ?[0-9]{{3}} ?[{_RUSSIAN}]{{2}} ?(?:[0-9]{{2,3}})(?:[ ]?(?:RUS|rus|рус))?"  # GOST R 50577
    r"|[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼][A-HJ-NP-Z][·•・ -]?[A-HJ-NP-Z0-9]{5,6}"  # GA 36
    r"|[1-9][0-9](?:-?[A-Z]{1,2}[0-9]?)[ -][0-9]{3}\.[0-9]{2})(?![0-9A-Za-zА-Яа-я_])"  # circular 24/2023/TT-BCA
)
"""Russian, Chinese and Vietnamese plates, which nothing else looks like."""


class PlateRecogniser(LabelledRecogniser):
    """Finds plates behind words such as "license plate", "biển số", "госномер", "车牌", "Kennzeichen"; some by their form alone."""

    type = "PLATE"
    NAMES = Kinds("identity", "plate")
    VALUE = lazy(
        r"(?<![0-9A-Za-z_./])(?=[^\d\n]{0,8}[0-9])(?:[A-ZÄÖÜА-Я]{1,3}|[0-9]{2,3} ?[가-힣]|[0-9]{1,4}|[A-Z0-9]{2,8}"
        r"|[\u4e00-\u9fff\u3041-\u3096가-힣][A-Z]?|[\u4e00-\u9fff]{2,4} ?[0-9]{2,3} ?[\u3041-\u3096] ?[0-9]{2}"
        r"|[A-Z]{2} ?[0-9]{1,2} ?[A-Z]{1,3})(?:[ ·•・.-]{0,2}(?:[A-ZА-Я]{1,4}|[0-9]{1,5}"
        r"|[a-z]{2}(?=[0-9]))){1,5}(?![0-9A-Za-z_年])"
    )

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all plates."""
        if DIGIT.search(view.text):
            yield from (match.span() for match in SURE.finditer(view.text))
            yield from super().spans(view)

    def valid(self, found: Labelled) -> bool:
        """Take what has digits and letters, as many as a plate has."""
        chars = sum(map(str.isalnum, found.value))
        return chars in CHARS and 0 < found.digits < chars and found.words_between <= MOST_WORDS

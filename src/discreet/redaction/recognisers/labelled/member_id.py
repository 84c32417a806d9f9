"""Numbers of customers, members, pupils and employees, beside the words for them, in all languages."""

from __future__ import annotations

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.recognisers.labelled.base import Labelled, LabelledRecogniser
from discreet.redaction.word_index import Kinds

MOST_WORDS_APART = 2
DIGITS = range(3, 19)


class MemberIdRecogniser(LabelledRecogniser):
    """Finds what stands behind "Kundennummer", "社員番号", "müşteri no" and the like.

    `InternalIdRecogniser` knows many more words in English, Vietnamese, Russian and Chinese, and patterns of one's own.
    """

    type = "INTERNAL_ID"
    NAMES = Kinds("identity", "member")
    VALUE = lazy(
        r"(?<![0-9A-Za-z_.,/+-])(?<![0-9]:)(?:[A-Z]{1,5}[ -]?)?[0-9](?:[ ./-]?[0-9A-Z]){2,18}(?![0-9A-Za-z_]|[.,:/][0-9])"
    )

    def valid(self, found: Labelled) -> bool:
        """Tell a number from a count."""
        return found.digits in DIGITS and found.words_between <= MOST_WORDS_APART

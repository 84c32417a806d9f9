"""Numbers of persons and companies that states give, beside the words for them, in all languages."""

from __future__ import annotations

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.recognisers.labelled.base import Labelled, LabelledRecogniser
from discreet.redaction.word_index import Kinds

DIGITS = range(4, 21)
LEAST_PLAIN = 5
"""Digits of a number that has no letters: four are a year or a price."""
SURELY_NUMBER = 8
MOST_WORDS_APART = 2


class IdentityNumberRecogniser(LabelledRecogniser):
    """Finds what is written like a number of a passport, a tax number or an identity card behind its name.

    The recognisers of `national_id` know the forms and check digits of their countries, and find many without any word.
    """

    type = "NATIONAL_ID"
    NAMES = Kinds("identity", "person")
    LEAST_DIGITS = 4
    VALUE = lazy(
        r"(?<![0-9A-Za-z_.,/+-])(?<![0-9]:)(?=[A-Z0-9 ./-]{0,24}[0-9])(?:[A-Z]{1,4}[ -]?)?[0-9](?:[ ./-]{0,2}[0-9]"
        r"|[A-Z](?=[0-9-]|[A-Z]{0,3}(?![a-zA-Z]))){3,22}(?:-?[A-Z]{1,2}|\([0-9A]\))?(?![0-9A-Za-z_]|[.,:/][0-9])"
        r"|(?<![0-9A-Za-z_.,/+-])(?<![0-9]:)[A-Z]{4,6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z](?!\w)"
        r"|(?<![0-9A-Za-z_.,/+-])(?<![0-9]:)[A-Z]{5}[0-9]{4}[A-Z](?!\w)|(?<![0-9A-Za-z_.,/+-])(?<![0-9]:)[A-Z]{2,3}(?=[0-9A-Z]{0,4}[0-9])[0-9A-Z]{3,8}[0-9A-Z](?<=[0-9A-Z])(?!\w)"
    )

    def valid(self, found: Labelled) -> bool:
        """Tell a number from a date or a word."""
        if found.digits < LEAST_PLAIN and found.value.isdigit():
            return False
        apart = MOST_WORDS_APART + (found.digits >= SURELY_NUMBER)
        return found.digits in DIGITS and found.words_between <= apart

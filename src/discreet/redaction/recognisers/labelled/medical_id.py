"""Numbers of patients and of their records, beside the words for them."""

from __future__ import annotations

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.recognisers.labelled.base import Labelled, LabelledRecogniser
from discreet.redaction.word_index import Kinds

MOST_WORDS = 4
OTHERWISE = lazy("(?:19|20)[0-9]{2}|[0-9]{2,3}/[0-9]{2,3}")
"""A year, or the pressure of blood."""
DIGITS = range(4, 19)


class MedicalIdRecogniser(LabelledRecogniser):
    """Finds what stands behind "MRN", "patient number", "mã bệnh nhân", "номер медкарты", "病历号" and the like."""

    type = "MEDICAL_ID"
    NAMES = Kinds("identity", "medical")
    VALUE = lazy(
        r"(?<![0-9A-Za-z_.,/+-])(?<![0-9]:)(?:[A-Z]{1,5}[ -]?)?[0-9](?:[ ./-]?[0-9A-Z]){3,20}(?![0-9A-Za-z_]|[.,:/][0-9])"
    )

    def valid(self, found: Labelled) -> bool:
        """Tell a number from a date or a count."""
        return found.digits in DIGITS and not OTHERWISE.fullmatch(found.value) and found.words_between <= MOST_WORDS

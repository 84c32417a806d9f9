"""Ids of Austria."""

from __future__ import annotations

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import Digits, NationalIdRecogniser


class AustriaIdRecogniser(NationalIdRecogniser):
    """Finds social insurance numbers, after words: ten digits are a telephone number as well."""

    NUMBERS = (Digits((10,), words=Words("svnr|sv nr|sv nummer|e card", "versicherungsn")),)

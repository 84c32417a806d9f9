"""Ids of Ukraine."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import Code, Digits, NationalIdRecogniser


class UkraineIdRecogniser(NationalIdRecogniser):
    """Finds tax numbers, old passports and entries of the demographic register, all after words."""

    NUMBERS = (
        Digits((10,), words=Words("іпн|ипн|рнокпп|ідн|iпн", "ідентифікаційний|податков|идентификационный код")),
        Digits((13,), words=Words("унзр|уезр", "демографічн|запис №")),
    )
    CODES = (
        Code(
            re.compile(r"(?<![^\W_])[А-ЯІЇЄҐA-Z]{2}[ -]?(?:№ ?)?[0-9]{6}(?![0-9])"),
            (b"?999999", b"A999999"),
            words=Words("", "паспорт"),
        ),
    )

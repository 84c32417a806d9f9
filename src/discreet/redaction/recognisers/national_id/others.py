"""Ids of countries of which few kinds are known, in one recogniser: each costs time even where there are no digits."""

from __future__ import annotations

from discreet.redaction.recognisers.national_id.australia import AustraliaIdRecogniser
from discreet.redaction.recognisers.national_id.austria import AustriaIdRecogniser
from discreet.redaction.recognisers.national_id.base import NationalIdRecogniser
from discreet.redaction.recognisers.national_id.belarus import BelarusIdRecogniser
from discreet.redaction.recognisers.national_id.canada import CanadaIdRecogniser
from discreet.redaction.recognisers.national_id.ireland import IrelandIdRecogniser
from discreet.redaction.recognisers.national_id.kazakhstan import KazakhstanIdRecogniser
from discreet.redaction.recognisers.national_id.singapore import SingaporeIdRecogniser
from discreet.redaction.recognisers.national_id.ukraine import UkraineIdRecogniser


class OtherIdRecogniser(NationalIdRecogniser):
    """Finds the ids of Australia, Austria, Belarus, Canada, Ireland, Kazakhstan, Singapore and Ukraine."""

    NUMBERS = (
        *AustraliaIdRecogniser.NUMBERS,
        *AustriaIdRecogniser.NUMBERS,
        *CanadaIdRecogniser.NUMBERS,
        *KazakhstanIdRecogniser.NUMBERS,
        *UkraineIdRecogniser.NUMBERS,
    )
    CODES = (
        *BelarusIdRecogniser.CODES,
        *IrelandIdRecogniser.CODES,
        *SingaporeIdRecogniser.CODES,
        *UkraineIdRecogniser.CODES,
    )

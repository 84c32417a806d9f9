"""Numbers and dates that a word beside them, their form or a check digit says what they are."""

from discreet.redaction.recognisers.labelled.bank_account import BankAccountRecogniser
from discreet.redaction.recognisers.labelled.base import LabelledRecogniser
from discreet.redaction.recognisers.labelled.birth_date import BirthDateRecogniser
from discreet.redaction.recognisers.labelled.identity_number import IdentityNumberRecogniser
from discreet.redaction.recognisers.labelled.imei import ImeiRecogniser
from discreet.redaction.recognisers.labelled.mac import MacRecogniser
from discreet.redaction.recognisers.labelled.medical_id import MedicalIdRecogniser
from discreet.redaction.recognisers.labelled.member_id import MemberIdRecogniser
from discreet.redaction.recognisers.labelled.plate import PlateRecogniser
from discreet.redaction.recognisers.labelled.vin import VinRecogniser

__all__ = [
    "BankAccountRecogniser",
    "BirthDateRecogniser",
    "IdentityNumberRecogniser",
    "ImeiRecogniser",
    "LabelledRecogniser",
    "MacRecogniser",
    "MedicalIdRecogniser",
    "MemberIdRecogniser",
    "PlateRecogniser",
    "VinRecogniser",
]

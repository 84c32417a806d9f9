"""Ids that states give to people: one country a file, and one file for documents known by words before them."""

from discreet.redaction.recognisers.national_id.brazil import BrazilIdRecogniser
from discreet.redaction.recognisers.national_id.china import ChinaIdRecogniser
from discreet.redaction.recognisers.national_id.documents import DocumentRecogniser
from discreet.redaction.recognisers.national_id.france import FranceIdRecogniser
from discreet.redaction.recognisers.national_id.germany import GermanyIdRecogniser
from discreet.redaction.recognisers.national_id.india import IndiaIdRecogniser
from discreet.redaction.recognisers.national_id.italy import ItalyIdRecogniser
from discreet.redaction.recognisers.national_id.japan import JapanIdRecogniser
from discreet.redaction.recognisers.national_id.mexico import MexicoIdRecogniser
from discreet.redaction.recognisers.national_id.poland import PolandIdRecogniser
from discreet.redaction.recognisers.national_id.russia import RussiaIdRecogniser
from discreet.redaction.recognisers.national_id.south_korea import SouthKoreaIdRecogniser
from discreet.redaction.recognisers.national_id.spain import SpainIdRecogniser
from discreet.redaction.recognisers.national_id.taiwan import TaiwanIdRecogniser
from discreet.redaction.recognisers.national_id.united_kingdom import UnitedKingdomIdRecogniser
from discreet.redaction.recognisers.national_id.united_states import UnitedStatesIdRecogniser
from discreet.redaction.recognisers.national_id.vietnam import VietnamIdRecogniser

__all__ = [
    "NATIONAL_IDS",
    "BrazilIdRecogniser",
    "ChinaIdRecogniser",
    "DocumentRecogniser",
    "FranceIdRecogniser",
    "GermanyIdRecogniser",
    "IndiaIdRecogniser",
    "ItalyIdRecogniser",
    "JapanIdRecogniser",
    "MexicoIdRecogniser",
    "PolandIdRecogniser",
    "RussiaIdRecogniser",
    "SouthKoreaIdRecogniser",
    "SpainIdRecogniser",
    "TaiwanIdRecogniser",
    "UnitedKingdomIdRecogniser",
    "UnitedStatesIdRecogniser",
    "VietnamIdRecogniser",
]

NATIONAL_IDS = (
    UnitedStatesIdRecogniser(),
    UnitedKingdomIdRecogniser(),
    VietnamIdRecogniser(),
    RussiaIdRecogniser(),
    TaiwanIdRecogniser(),
    ChinaIdRecogniser(),
    GermanyIdRecogniser(),
    FranceIdRecogniser(),
    JapanIdRecogniser(),
    SouthKoreaIdRecogniser(),
    SpainIdRecogniser(),
    ItalyIdRecogniser(),
    PolandIdRecogniser(),
    BrazilIdRecogniser(),
    IndiaIdRecogniser(),
    MexicoIdRecogniser(),
    DocumentRecogniser(),
)
"""One of each."""

"""Ids that states give to people: one country a file, and one file for documents known by words before them."""

from discreet.redaction.recognisers.national_id.australia import AustraliaIdRecogniser
from discreet.redaction.recognisers.national_id.austria import AustriaIdRecogniser
from discreet.redaction.recognisers.national_id.belarus import BelarusIdRecogniser
from discreet.redaction.recognisers.national_id.brazil import BrazilIdRecogniser
from discreet.redaction.recognisers.national_id.canada import CanadaIdRecogniser
from discreet.redaction.recognisers.national_id.china import ChinaIdRecogniser
from discreet.redaction.recognisers.national_id.documents import DocumentRecogniser
from discreet.redaction.recognisers.national_id.france import FranceIdRecogniser
from discreet.redaction.recognisers.national_id.germany import GermanyIdRecogniser
from discreet.redaction.recognisers.national_id.india import IndiaIdRecogniser
from discreet.redaction.recognisers.national_id.ireland import IrelandIdRecogniser
from discreet.redaction.recognisers.national_id.italy import ItalyIdRecogniser
from discreet.redaction.recognisers.national_id.japan import JapanIdRecogniser
from discreet.redaction.recognisers.national_id.kazakhstan import KazakhstanIdRecogniser
from discreet.redaction.recognisers.national_id.mexico import MexicoIdRecogniser
from discreet.redaction.recognisers.national_id.others import OtherIdRecogniser
from discreet.redaction.recognisers.national_id.poland import PolandIdRecogniser
from discreet.redaction.recognisers.national_id.russia import RussiaIdRecogniser
from discreet.redaction.recognisers.national_id.singapore import SingaporeIdRecogniser
from discreet.redaction.recognisers.national_id.south_korea import SouthKoreaIdRecogniser
from discreet.redaction.recognisers.national_id.spain import SpainIdRecogniser
from discreet.redaction.recognisers.national_id.taiwan import TaiwanIdRecogniser
from discreet.redaction.recognisers.national_id.ukraine import UkraineIdRecogniser
from discreet.redaction.recognisers.national_id.united_kingdom import UnitedKingdomIdRecogniser
from discreet.redaction.recognisers.national_id.united_states import UnitedStatesIdRecogniser
from discreet.redaction.recognisers.national_id.vietnam import VietnamIdRecogniser

__all__ = [
    "NATIONAL_IDS",
    "AustraliaIdRecogniser",
    "AustriaIdRecogniser",
    "BelarusIdRecogniser",
    "BrazilIdRecogniser",
    "CanadaIdRecogniser",
    "ChinaIdRecogniser",
    "DocumentRecogniser",
    "FranceIdRecogniser",
    "GermanyIdRecogniser",
    "IndiaIdRecogniser",
    "IrelandIdRecogniser",
    "ItalyIdRecogniser",
    "JapanIdRecogniser",
    "KazakhstanIdRecogniser",
    "MexicoIdRecogniser",
    "OtherIdRecogniser",
    "PolandIdRecogniser",
    "RussiaIdRecogniser",
    "SingaporeIdRecogniser",
    "SouthKoreaIdRecogniser",
    "SpainIdRecogniser",
    "TaiwanIdRecogniser",
    "UkraineIdRecogniser",
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
    OtherIdRecogniser(),
    DocumentRecogniser(),
)
"""All of them, in as few as need be."""

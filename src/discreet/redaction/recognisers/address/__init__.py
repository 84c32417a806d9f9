"""Postal addresses: one grammar a file, for a language or for languages that write alike."""

from discreet.redaction.recognisers.address.address import AddressRecogniser
from discreet.redaction.recognisers.address.chinese import ChineseAddressRecogniser
from discreet.redaction.recognisers.address.east_asian import EastAsianAddressRecogniser
from discreet.redaction.recognisers.address.english import EnglishAddressRecogniser
from discreet.redaction.recognisers.address.european import EuropeanAddressRecogniser
from discreet.redaction.recognisers.address.parts import PartsAddressRecogniser
from discreet.redaction.recognisers.address.russian import RussianAddressRecogniser
from discreet.redaction.recognisers.address.vietnamese import VietnameseAddressRecogniser
from discreet.redaction.recognisers.address.village import VillageAddressRecogniser
from discreet.redaction.recognisers.address.worldwide import WorldwideAddressRecogniser

__all__ = [
    "AddressRecogniser",
    "ChineseAddressRecogniser",
    "EastAsianAddressRecogniser",
    "EnglishAddressRecogniser",
    "EuropeanAddressRecogniser",
    "PartsAddressRecogniser",
    "RussianAddressRecogniser",
    "VietnameseAddressRecogniser",
    "VillageAddressRecogniser",
    "WorldwideAddressRecogniser",
]

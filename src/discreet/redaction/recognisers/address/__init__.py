"""Postal addresses: one grammar a file, for a language or for languages that write alike."""

from discreet.redaction.recognisers.address.english import EnglishAddressRecogniser
from discreet.redaction.recognisers.address.european import EuropeanAddressRecogniser
from discreet.redaction.recognisers.address.worldwide import WorldwideAddressRecogniser

__all__ = ["EnglishAddressRecogniser", "EuropeanAddressRecogniser", "WorldwideAddressRecogniser"]

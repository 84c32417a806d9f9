"""Postal addresses: one grammar a file, for a language or for languages that write alike."""

from discreet.redaction.recognisers.address.english import EnglishAddressRecogniser

__all__ = ["EnglishAddressRecogniser"]

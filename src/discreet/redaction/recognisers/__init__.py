"""One recogniser a file: bounded patterns as constants, validation as a method of its own."""

from discreet.redaction.recognisers.address import (
    ChineseAddressRecogniser,
    EastAsianAddressRecogniser,
    EnglishAddressRecogniser,
    EuropeanAddressRecogniser,
    RussianAddressRecogniser,
    VietnameseAddressRecogniser,
    WorldwideAddressRecogniser,
)
from discreet.redaction.recognisers.assignment import AssignmentRecogniser
from discreet.redaction.recognisers.authorization import AuthorizationRecogniser
from discreet.redaction.recognisers.backup_code import BackupCodeRecogniser
from discreet.redaction.recognisers.base import Recogniser
from discreet.redaction.recognisers.card import CardRecogniser
from discreet.redaction.recognisers.command_line import CommandLineRecogniser
from discreet.redaction.recognisers.connection_string import ConnectionStringRecogniser
from discreet.redaction.recognisers.email import EmailRecogniser
from discreet.redaction.recognisers.entropy import EntropyRecogniser
from discreet.redaction.recognisers.iban import IbanRecogniser
from discreet.redaction.recognisers.internal_id import InternalIdRecogniser
from discreet.redaction.recognisers.ip import IpRecogniser
from discreet.redaction.recognisers.national_id import NATIONAL_IDS
from discreet.redaction.recognisers.obfuscated_email import ObfuscatedEmailRecogniser
from discreet.redaction.recognisers.pasted_secret import PastedSecretRecogniser
from discreet.redaction.recognisers.phone import PhoneRecogniser
from discreet.redaction.recognisers.private_key import PrivateKeyRecogniser
from discreet.redaction.recognisers.security_answer import SecurityAnswerRecogniser
from discreet.redaction.recognisers.seed_phrase import SeedPhraseRecogniser
from discreet.redaction.recognisers.spoken_secret import SpokenSecretRecogniser
from discreet.redaction.recognisers.told_code import ToldCodeRecogniser
from discreet.redaction.recognisers.url import UrlRecogniser
from discreet.redaction.recognisers.vendor_token import VendorTokenRecogniser
from discreet.redaction.view import Span, View

__all__ = [
    "DEFAULT",
    "NATIONAL_IDS",
    "AssignmentRecogniser",
    "AuthorizationRecogniser",
    "BackupCodeRecogniser",
    "CardRecogniser",
    "ChineseAddressRecogniser",
    "CommandLineRecogniser",
    "ConnectionStringRecogniser",
    "EastAsianAddressRecogniser",
    "EmailRecogniser",
    "EnglishAddressRecogniser",
    "EntropyRecogniser",
    "EuropeanAddressRecogniser",
    "IbanRecogniser",
    "InternalIdRecogniser",
    "IpRecogniser",
    "ObfuscatedEmailRecogniser",
    "PastedSecretRecogniser",
    "PhoneRecogniser",
    "PrivateKeyRecogniser",
    "Recogniser",
    "RussianAddressRecogniser",
    "SecurityAnswerRecogniser",
    "SeedPhraseRecogniser",
    "Span",
    "SpokenSecretRecogniser",
    "ToldCodeRecogniser",
    "UrlRecogniser",
    "VendorTokenRecogniser",
    "VietnameseAddressRecogniser",
    "View",
    "WorldwideAddressRecogniser",
]

DEFAULT: tuple[Recogniser, ...] = (
    PrivateKeyRecogniser(),
    VendorTokenRecogniser(),
    AuthorizationRecogniser(),
    CommandLineRecogniser(),
    ConnectionStringRecogniser(),
    AssignmentRecogniser(),
    SpokenSecretRecogniser(),
    PastedSecretRecogniser(),
    ToldCodeRecogniser(),
    BackupCodeRecogniser(),
    SeedPhraseRecogniser(),
    SecurityAnswerRecogniser(),
    EntropyRecogniser(),
    EmailRecogniser(),
    ObfuscatedEmailRecogniser(),
    CardRecogniser(),
    PhoneRecogniser(),
    EnglishAddressRecogniser(),
    EuropeanAddressRecogniser(),
    WorldwideAddressRecogniser(),
    VietnameseAddressRecogniser(),
    RussianAddressRecogniser(),
    ChineseAddressRecogniser(),
    EastAsianAddressRecogniser(),
    IbanRecogniser(),
    *NATIONAL_IDS,
    InternalIdRecogniser(),
    IpRecogniser(),
    UrlRecogniser(),
)
"""What a `Redactor` looks for unless told otherwise."""

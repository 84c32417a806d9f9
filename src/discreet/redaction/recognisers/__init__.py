"""One recogniser a file: bounded patterns as constants, validation as a method of its own."""

from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.address import AddressRecogniser
from discreet.redaction.recognisers.authorization import AuthorizationRecogniser
from discreet.redaction.recognisers.base import Recogniser
from discreet.redaction.recognisers.card import CardRecogniser
from discreet.redaction.recognisers.command_line import CommandLineRecogniser
from discreet.redaction.recognisers.connection_string import ConnectionStringRecogniser
from discreet.redaction.recognisers.email import EmailRecogniser
from discreet.redaction.recognisers.entropy import EntropyRecogniser
from discreet.redaction.recognisers.half_redacted import HalfRedactedRecogniser
from discreet.redaction.recognisers.iban import IbanRecogniser
from discreet.redaction.recognisers.internal_id import InternalIdRecogniser
from discreet.redaction.recognisers.ip import IpRecogniser
from discreet.redaction.recognisers.labelled import (
    BankAccountRecogniser,
    BirthDateRecogniser,
    IdentityNumberRecogniser,
    ImeiRecogniser,
    MacRecogniser,
    MedicalIdRecogniser,
    MemberIdRecogniser,
    PlateRecogniser,
    VinRecogniser,
)
from discreet.redaction.recognisers.national_id import NATIONAL_IDS
from discreet.redaction.recognisers.obfuscated_email import ObfuscatedEmailRecogniser
from discreet.redaction.recognisers.phone import PhoneRecogniser
from discreet.redaction.recognisers.private_key import PrivateKeyRecogniser
from discreet.redaction.recognisers.seed_phrase import SeedPhraseRecogniser
from discreet.redaction.recognisers.told import (
    AroundRecogniser,
    AssignmentRecogniser,
    BackupCodeRecogniser,
    CredentialListRecogniser,
    LikelySecretRecogniser,
    LoginRecogniser,
    NearRecogniser,
    PasswordRecogniser,
    SecurityAnswerRecogniser,
    TableRecogniser,
    ToldCodeRecogniser,
)
from discreet.redaction.recognisers.url import UrlRecogniser
from discreet.redaction.recognisers.vendor_token import VendorTokenRecogniser

__all__ = [
    "DEFAULT",
    "NATIONAL_IDS",
    "AddressRecogniser",
    "AroundRecogniser",
    "AssignmentRecogniser",
    "AuthorizationRecogniser",
    "BackupCodeRecogniser",
    "BankAccountRecogniser",
    "BirthDateRecogniser",
    "CardRecogniser",
    "CommandLineRecogniser",
    "ConnectionStringRecogniser",
    "CredentialListRecogniser",
    "EmailRecogniser",
    "EntropyRecogniser",
    "HalfRedactedRecogniser",
    "IbanRecogniser",
    "IdentityNumberRecogniser",
    "ImeiRecogniser",
    "InternalIdRecogniser",
    "IpRecogniser",
    "LikelySecretRecogniser",
    "LoginRecogniser",
    "MacRecogniser",
    "MedicalIdRecogniser",
    "MemberIdRecogniser",
    "NearRecogniser",
    "ObfuscatedEmailRecogniser",
    "PasswordRecogniser",
    "PhoneRecogniser",
    "PlateRecogniser",
    "PrivateKeyRecogniser",
    "Recogniser",
    "SecurityAnswerRecogniser",
    "SeedPhraseRecogniser",
    "Span",
    "TableRecogniser",
    "ToldCodeRecogniser",
    "UrlRecogniser",
    "VendorTokenRecogniser",
    "View",
    "VinRecogniser",
]

DEFAULT: tuple[Recogniser, ...] = (
    PrivateKeyRecogniser(),
    VendorTokenRecogniser(),
    AuthorizationRecogniser(),
    CommandLineRecogniser(),
    ConnectionStringRecogniser(),
    AssignmentRecogniser(),
    PasswordRecogniser(),
    AroundRecogniser(),
    NearRecogniser(),
    LoginRecogniser(),
    CredentialListRecogniser(),
    TableRecogniser(),
    ToldCodeRecogniser(),
    BackupCodeRecogniser(),
    SeedPhraseRecogniser(),
    SecurityAnswerRecogniser(),
    EntropyRecogniser(),
    EmailRecogniser(),
    ObfuscatedEmailRecogniser(),
    CardRecogniser(),
    PhoneRecogniser(),
    AddressRecogniser(),
    IbanRecogniser(),
    *NATIONAL_IDS,
    InternalIdRecogniser(),
    BankAccountRecogniser(),
    BirthDateRecogniser(),
    IdentityNumberRecogniser(),
    ImeiRecogniser(),
    MacRecogniser(),
    MedicalIdRecogniser(),
    MemberIdRecogniser(),
    PlateRecogniser(),
    VinRecogniser(),
    IpRecogniser(),
    UrlRecogniser(),
    HalfRedactedRecogniser(),
    LikelySecretRecogniser(),
)
"""What a `Redactor` looks for unless told otherwise."""

"""Secrets that people tell: passwords, keys, codes and answers, by the words of `discreet.redaction.words`."""

from discreet.redaction.recognisers.told.answer import SecurityAnswerRecogniser
from discreet.redaction.recognisers.told.around import AroundRecogniser
from discreet.redaction.recognisers.told.assignment import AssignmentRecogniser
from discreet.redaction.recognisers.told.backup_code import BackupCodeRecogniser
from discreet.redaction.recognisers.told.code import ToldCodeRecogniser
from discreet.redaction.recognisers.told.credential_list import CredentialListRecogniser
from discreet.redaction.recognisers.told.likely import LikelySecretRecogniser
from discreet.redaction.recognisers.told.login import LoginRecogniser
from discreet.redaction.recognisers.told.near import NearRecogniser
from discreet.redaction.recognisers.told.password import PasswordRecogniser
from discreet.redaction.recognisers.told.table import TableRecogniser

__all__ = [
    "AroundRecogniser",
    "AssignmentRecogniser",
    "BackupCodeRecogniser",
    "CredentialListRecogniser",
    "LikelySecretRecogniser",
    "LoginRecogniser",
    "NearRecogniser",
    "PasswordRecogniser",
    "SecurityAnswerRecogniser",
    "TableRecogniser",
    "ToldCodeRecogniser",
]

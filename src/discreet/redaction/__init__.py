"""Find sensitive values in text and put placeholders in their place."""

from discreet.redaction.engine import Redactor
from discreet.redaction.findings import Finding
from discreet.redaction.placeholders import resolve, untagged
from discreet.redaction.streaming import StreamingRedactor
from discreet.redaction.threads import Masked, ThreadRedactor
from discreet.redaction.vault import InMemoryTurnVault

__all__ = [
    "Finding",
    "InMemoryTurnVault",
    "Masked",
    "Redactor",
    "StreamingRedactor",
    "ThreadRedactor",
    "redact",
    "resolve",
    "untagged",
]

_DEFAULT_REDACTOR = Redactor()


def redact(text: str) -> str:
    """Return `text` with an untagged placeholder for each sensitive value, as the default `Redactor` does.

    Example:
        >>> redact("my password is " + "tr0ub4dor" + "&3")
        'my password is <SECRET>'
    """
    return _DEFAULT_REDACTOR.redact(text)

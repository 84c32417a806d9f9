"""Placeholders that let a reader follow who is who within a thread, and tell nothing beyond it."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from discreet.redaction.findings import Finding
from discreet.redaction.normalise import normalise
from discreet.redaction.placeholders import TAG_CHARS, UNTAGGED, issue, untagged, written
from discreet.state.text import storable

if TYPE_CHECKING:
    from discreet.redaction.engine import Redactor

PlaceholderKey = bytes | Callable[[], bytes]
"""32 bytes or more, or what returns them when they are needed."""

NUMBERS = frozenset(
    {
        "PHONE",
        "CARD",
        "IBAN",
        "NATIONAL_ID",
        "BANK_ACCOUNT",
        "IMEI",
        "MAC",
        "VIN",
        "PLATE",
        "MEDICAL_ID",
        "PARTIAL_NUMBER",
    }
)
"""Types that are the same however they are grouped."""
EXACT = frozenset({"URL", "INTERNAL_ID"})
"""Types in which capital and small letters differ."""


class Masked(NamedTuple):
    """A text without its values, and the values."""

    text: str
    values: dict[str, str]
    """Tagged placeholder -> the value as it was written."""

    def __repr__(self) -> str:
        return f"Masked({len(self.values)} values)"


class ThreadRedactor:
    """Redacts with tags: equal values of one thread get equal placeholders.

    The tag is 40 bits of HMAC-SHA256 of the normalised value, under a key derived from the placeholder key for this thread
    (HKDF, RFC 5869). It's a pure function: replicas agree without talking, and threads can't be linked.

    Example:
        >>> from discreet.redaction import Redactor
        >>> thread = Redactor(placeholder_key=bytes(32)).for_thread("1")
        >>> thread.redact("ann@example.com, ANN@example.com")
        '<EMAIL:I77NUSRH>, <EMAIL:I77NUSRH>'
    """

    def __init__(self, redactor: Redactor, thread_id: str, placeholder_key: PlaceholderKey | None) -> None:
        self._redactor = redactor
        self._thread_id = thread_id
        self._placeholder_key = placeholder_key

    def redact(self, text: str) -> str:
        """Return `text` with a tagged placeholder for each value; those it has already stay. Pure and idempotent."""
        text = storable(text)
        return self._redactor.replace(text, lambda finding: self.label(text, finding))

    def mask(self, text: str, known: Mapping[str, str] | None = None, *, trusted: bool = False) -> Masked:
        """Return `text` redacted, and the values that went, for `resolve` within this turn.

        Tags of placeholders that text from outside brings along are dropped, so that it can't name values of others; those
        of `trusted` text, the turn's own, stay. `known` has what the turn holds already. A value whose tag another value has got stays untagged, and so
        can't be resolved: once in two million threads of 1,000 values.
        """
        text = storable(text) if trusted else untagged(storable(text))
        values: dict[str, str] = {}

        def label(finding: Finding) -> str:
            return self.take(text, finding, values, known)

        return Masked(self._redactor.replace(text, label), values)

    def take(self, text: str, finding: Finding, values: dict[str, str], known: Mapping[str, str] | None = None) -> str:
        """Return the placeholder for a finding in storable `text` as `label` does; its value is added to `values`.

        It stays untagged if its tag is another value's, in `values` or in `known`.
        """
        value = text[finding.start : finding.end]
        tag = self._tag(finding.type, value)
        placeholder = written(finding.type, tag)
        other = values.get(placeholder) or (known or {}).get(placeholder)
        if other is not None and _identity(finding.type, other) != _identity(finding.type, value):
            return issue(finding.type)
        if tag:
            values.setdefault(placeholder, value if other is None else other)
        return issue(finding.type, tag)

    def findings(self, text: str) -> list[Finding]:
        """Return what `redact` replaces, see `Redactor.findings`."""
        return self._redactor.findings(text)

    def label(self, text: str, finding: Finding) -> str:
        """Return the placeholder for a finding in storable `text`, and count it."""
        return issue(finding.type, self._tag(finding.type, text[finding.start : finding.end]))

    def literal(self, text: str) -> str:
        """Return what is written of text between findings: all of it, tags too."""
        return text

    def carried(self, text: str) -> str:
        """Return what of a text that is out has to stay in front of the rest of a stream."""
        return self._redactor.carried(text)

    def open_from(self, text: str) -> int:
        """Return where in `text` begins what may be part of a value once more is written."""
        return self._redactor.open_from(text)

    def _tag(self, kind: str, value: str) -> str | None:
        if kind in UNTAGGED:
            return None
        message = f"{kind}\0{_identity(kind, value)}".encode()
        digest = hmac.digest(self._key, message, "sha256")
        return base64.b32encode(digest[:5]).decode("ascii")[:TAG_CHARS]

    @cached_property
    def _key(self) -> bytes:
        # Imported here because most processes redact without tags, and this doubles the import's time.
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        from discreet.redaction.placeholder_key import default_key

        key = self._placeholder_key or default_key
        secret = key if isinstance(key, bytes) else key()
        info = b"discreet placeholders\0" + self._thread_id.encode("utf-8", "surrogatepass")
        return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secret)


def _identity(kind: str, value: str) -> str:
    """Return what makes two spellings the same value."""
    text = normalise(value).text
    if kind in NUMBERS:
        return "".join(filter(str.isalnum, text)).casefold()
    text = " ".join(text.split())
    return text if kind in EXACT else text.casefold()

"""Keys and tokens that vendors give a recognisable form."""

# ruff: noqa: C901  # each line rules one kind of text out

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.runs import long_runs
from discreet.redaction.recognisers.vendor_forms import ADDRESSES, FIXED, PREFIXED, SIGNED


class VendorTokenRecogniser:
    """Finds tokens by prefix or shape, in text that has a long unbroken run at all.

    Of an address that is a credential (a webhook), the whole is found: what it has besides the token says whose it is.
    """

    type = "SECRET"

    ABOUT_A_HASH = re.compile(
        r"(?:tx|hash|transaction|block|digest|sha\w{0,6}|txid|хэш|хеш|哈希|雜湊|交易)\W{0,8}\Z", re.IGNORECASE
    )
    """What stands before 32 bytes in hexadecimal that are public."""

    SHARED_ACCESS = re.compile(r"(?<![A-Za-z0-9])s[vpre]=[A-Za-z0-9%&=_:.-]{8,400}&sig=[A-Za-z0-9%+/_-]{16,200}={0,2}")
    """A shared access signature of Azure storage, all of whose fields are signed."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all tokens."""
        text = view.text
        if not view.derived(long_runs):
            return
        for match in PREFIXED.finditer(text):
            if self.is_random(match[0]):
                yield match.span()
        for match in FIXED.finditer(text):
            if not match[0].startswith("0x") or not self.ABOUT_A_HASH.search(
                text, max(0, match.start() - 40), match.start()
            ):
                yield match.span()
        if "://" in text:
            for match in ADDRESSES.finditer(text):
                yield match.span()
        if "ig" in text and "=" in text:
            for pattern in (SIGNED, self.SHARED_ACCESS):
                for match in pattern.finditer(text):
                    yield match.span()

    HYPHENATED = re.compile(r"[A-Za-z]{1,20}(?:[-_./](?:[A-Z]?[a-z]{1,20}|[A-Z]{1,20}|[0-9]{1,6}))*+")
    """Words and version numbers: `sk-learn-is-nice`, `api-gateway-2024`."""

    def is_random(self, token: str) -> bool:
        """Tell a token from hyphenated words: some run of it mixes digits or capitals into letters, or never ends."""
        return self.HYPHENATED.fullmatch(token) is None or re.search("[a-z]{20}|[A-Za-z]{30}", token) is not None

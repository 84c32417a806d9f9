"""Random strings that nothing announces: keys and tokens without a prefix."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from string import ascii_lowercase, ascii_uppercase, digits

from discreet.redaction.id_forms import FORMED_ID, is_told_secret
from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.runs import long_runs

LEAST_CHARS = 20
"""Shorter random strings are mostly names: order numbers, video ids (11), Amazon's product numbers (10), VINs (17)."""
LEAST_OF_ONE_CASE = 24
"""Without one of the cases, or with as few as that, part numbers and host names come close."""
MOST_CHARS = 300
"""Longer ones are files in base64, unless a word or a prefix says otherwise."""
SURELY_LONG = 32

CHANGES_OF_THREE = 0.38
"""Share of neighbours that differ in kind (small, capital, digit): 0.62 in random letters and digits, 0.2 to 0.3 in names of
classes and products."""
CHANGES_OF_TWO = 0.26
"""The same with one case and digits: 0.40 in random ones."""
LEAST_DIFFERENT = 10
"""Different characters that a random string of twenty has at least."""


class EntropyRecogniser:
    """Finds runs that mix capitals, small letters and digits as chance does and names don't.

    Digests, UUIDs and trace ids (hexadecimal only) are left to the recognisers that look at the words before them, and
    so is what stands in a URL, in a data URL or after the name of a digest. So are ids of known forms, such as ULIDs, unless a word
    for a key or a password is near.
    """

    type = "SECRET"

    RUN = lazy(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{20,4000}+={0,2}")

    NAMED = lazy(
        r"(?:sha[0-9]{0,3}[-:= ]{1,2}|md5[-:= ]{1,2}|h1:|base64,|digest\W{1,4}|integrity\W{1,4}|etag\W{1,4}|checksum\W{1,4}"
        r"|ssh-(?:rsa|ed25519|dss) |ecdsa-sha2-nistp[0-9]{3} |(?:begin|end) [a-z ]{3,30}-{5}\s{1,3})\Z",
        re.IGNORECASE,
    )
    """Words before something random that is public."""

    NAMED_HINTS = ("sha", "md5", "h1:", "64,", "digest", "integrity", "etag", "checksum", "ssh-", "begin ", "end ")

    DIGEST = lazy(r"sha[0-9]{1,3}[-=]|md5[-=]", re.IGNORECASE)
    """A digest that bears its own name, as in `integrity` of a lock file."""

    HEXADECIMAL = lazy(r"(?:0x)?[0-9a-f-]{1,4000}|[0-9A-F-]{1,4000}")
    PARTS = lazy(r"[A-Za-z0-9]{1,4000}+")
    KIND = str.maketrans(ascii_lowercase + ascii_uppercase + digits, "a" * 26 + "A" * 26 + "0" * 10)
    """To one letter a kind."""
    CHANGES = ("aA", "a0", "Aa", "A0", "0a", "0A")
    LONG_WORD = lazy(r"[a-z]{8}|[A-Z]{9}|[0-9]{9}")

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of random strings."""
        text = view.text
        for first, last in view.derived(long_runs):
            if last - first < LEAST_CHARS:
                continue
            for match in self.RUN.finditer(text, first, last):
                if (
                    self.is_random(match[0])
                    and not self.is_public(text, match.start())
                    and (not FORMED_ID.fullmatch(match[0]) or is_told_secret(view, *match.span()))
                ):
                    yield match.span()

    def is_public(self, text: str, start: int) -> bool:
        """Tell whether what stands before says that the string is a digest, a public key, or part of an address."""
        if self.DIGEST.match(text, start):
            return True
        before = text[max(0, start - 400) : start]
        word = "" if before[-1:].isspace() else re.split(r"[\s\"'<>]", before)[-1]
        if "://" in word or "www." in word:
            return True
        near = before[-40:].lower()
        return any(hint in near for hint in self.NAMED_HINTS) and self.NAMED.search(near) is not None

    def is_random(self, run: str) -> bool:
        """Tell a random string from names, paths and numbers, by how often kinds of characters change in it."""
        if len(run) > MOST_CHARS or len(set(run)) < LEAST_DIFFERENT or self.HEXADECIMAL.fullmatch(run):
            return False
        parts = self.PARTS.findall(run)
        joined = "".join(parts)
        if len(joined) < LEAST_CHARS - 2 or len(parts) > 2 + len(joined) / 10:
            return False
        kinds = joined.translate(self.KIND)
        changes = sum(map(kinds.count, self.CHANGES)) / len(joined)
        if "a" in kinds and "A" in kinds and "0" in kinds:
            mixed = changes >= CHANGES_OF_THREE and (len(joined) >= SURELY_LONG or not self.LONG_WORD.search(joined))
        else:
            # two parts are a prefix and a tail
            mixed = (
                # "ab0": a word and a number
                changes >= CHANGES_OF_TWO and len(joined) >= LEAST_OF_ONE_CASE and len(parts) <= 2 and "0" in kinds
            )
        return mixed and not _is_text(run)


def _is_text(run: str) -> bool:
    """Tell whether a run is text in base64, in which others look for values; chance makes none of fifteen bytes."""
    try:
        decoded = base64.b64decode(
            run.rstrip("=") + "=" * (-len(run.rstrip("=")) % 4), altchars=b"-_" if "-" in run or "_" in run else None
        )
        return decoded.decode("utf-8").isprintable()
    except (binascii.Error, UnicodeDecodeError):
        return False

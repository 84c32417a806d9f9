"""Tell whether a text is the one that was stored redacted: what was taken out of that can't be read any more."""

from __future__ import annotations

import re
from typing import Final

from discreet.ports import TextRedactor
from discreet.redaction.findings import Finding
from discreet.redaction.placeholders import uncounted, untagged
from discreet.redaction.threads import ThreadRedactor
from discreet.state.text import storable

PLACEHOLDER: Final = re.compile(r"<(?P<kind>[A-Z][A-Z0-9_]{0,40})(?P<tag>:[A-Z2-7]{8})?>")


def is_same_text(stored: str, given: str, redactor: TextRedactor) -> bool:
    """Return whether `stored` is `given` or what it became, with a thread's `redactor`.

    The stored text may have placeholders for more than is found in `given` alone: what stood around it tells, too. Each of these
    has to stand for the value in its place, as its tag tells; one without a tag stands for any one word.

    Example:
        >>> from discreet.redaction import Redactor
        >>> redactor = Redactor(placeholder_key=bytes(32)).for_thread("1")
        >>> is_same_text(redactor.redact("I am ann@example.com"), "I am ann@example.com", redactor)
        True
        >>> is_same_text(redactor.redact("I am ann@example.com"), "I am bob@example.com", redactor)
        False
    """
    given = storable(given)
    if stored == given:
        return True
    with uncounted():
        redacted = [redactor.redact(given), redactor.redact(untagged(given))]
        return stored in redacted or any(_fits(stored, each, redactor) for each in redacted)


def _fits(stored: str, given: str, redactor: TextRedactor) -> bool:
    """Return whether `given` has the words of `stored`, and in the places of its placeholders the same or their values."""
    at, taken = 0, list(PLACEHOLDER.finditer(stored))
    if not taken or not given.startswith(stored[: taken[0].start()]):
        return False
    at = taken[0].start()
    for number, placeholder in enumerate(taken):
        is_last = number + 1 == len(taken)
        words = stored[placeholder.end() : len(stored) if is_last else taken[number + 1].start()]
        end = len(given) - len(words) if is_last else given.find(words, at + 1)
        if (
            end <= at
            or not given.endswith(words if is_last else "")
            or not _stands(placeholder, given[at:end], redactor)
        ):
            return False
        at = end + len(words)
    return True


def _stands(placeholder: re.Match[str], value: str, redactor: TextRedactor) -> bool:
    """Return whether a placeholder stands for a value."""
    if value == placeholder[0]:
        return True
    if placeholder["tag"] is None:
        return not any(map(str.isspace, value)) and PLACEHOLDER.search(value) is None
    if not isinstance(redactor, ThreadRedactor):
        return False
    return redactor.label(value, Finding(placeholder["kind"], 0, len(value))) == placeholder[0]

"""What stands in the place of a value."""

from __future__ import annotations

import re
from collections.abc import Iterable

from discreet import metrics

OVERSIZE = "OVERSIZE"
"""A text too long to be searched."""
UNKNOWN = "UNKNOWN"
"""Something that can't be shown to be harmless."""
BYTES = "BYTES"
"""Binary data."""


def issue(kind: str) -> str:
    """Return the placeholder for one value of type `kind`, and count it. Nothing else counts redactions."""
    metrics.redactions.labels(type=kind).inc()
    return f"<{kind}>"


def placeholder_pattern(kinds: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches the placeholders of `kinds` and those that are not about a recogniser's finding."""
    names = sorted({*kinds, OVERSIZE, UNKNOWN, BYTES})
    return re.compile(f"<(?:{'|'.join(map(re.escape, names))})>")

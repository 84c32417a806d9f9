"""The one place that makes a text storable."""

from __future__ import annotations


def storable(text: str) -> str:
    """Return `text` without NULs and with lone surrogates as U+FFFD: what PostgreSQL and UTF-8 can hold."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")

"""The one place that makes a text storable."""

from __future__ import annotations


def storable(text: str) -> str:
    """Return `text` as PostgreSQL and UTF-8 can hold it: no NUL, and U+FFFD for each lone surrogate."""
    text = text.replace("\0", "")
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

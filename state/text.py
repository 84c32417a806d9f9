"""Texts: as a database can hold them, their sentences, and their letters without marks."""

from __future__ import annotations

import re
import unicodedata


def storable(text: str) -> str:
    """Return `text` as PostgreSQL and UTF-8 can hold it: no NUL, and U+FFFD for each lone surrogate."""
    text = text.replace("\0", "")
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


VIETNAMESE = "ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ"
"""Small letters that no other Latin alphabet in wide use has."""

_MARKS = re.compile("[\u0300-\u036f]")


def without_marks(text: str) -> str:
    """Return small letters without their marks, as Vietnamese is often typed."""
    if text.isascii():
        return text
    return _MARKS.sub("", unicodedata.normalize("NFKD", text)).replace("\N{LATIN SMALL LETTER D WITH STROKE}", "d")


SENTENCE_END = re.compile(
    r"[.!?…]+[\"'”’»)\]]*(?=\s|$)"  # a stop within `3.5` or `a.b@c.d` ends nothing
    r"|[。\uff01\uff1f]+[”’」』\uff09]*"
    r"|”(?=\s|$)|\n+"
)


MAX_SENTENCES = 3
MAX_SUMMARY_CHARS = 600
"""Three sentences of 200 characters each, which is long for any of the four languages."""


def sentences(text: str) -> list[str]:
    """Return the sentences of `text`, each with its stop and without white space around it; lines end sentences too."""
    ends = [*(match.end() for match in SENTENCE_END.finditer(text)), len(text)]
    pieces = (text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False))
    return [piece for piece in pieces if piece]


def first_sentences(text: str) -> str:
    """Return the first three sentences of `text` on one line, cut at 600 characters."""
    return " ".join(sentences(" ".join(text.split()))[:MAX_SENTENCES])[:MAX_SUMMARY_CHARS].strip()

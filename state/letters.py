"""Letters that tell a language, and letters without their marks."""

from __future__ import annotations

import re
import unicodedata

VIETNAMESE = "ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ"
"""Small letters that no other Latin alphabet in wide use has."""

_MARKS = re.compile("[\u0300-\u036f]")


def without_marks(text: str) -> str:
    """Return small letters without their marks, as Vietnamese is often typed."""
    if text.isascii():
        return text
    return _MARKS.sub("", unicodedata.normalize("NFKD", text)).replace("\N{LATIN SMALL LETTER D WITH STROKE}", "d")

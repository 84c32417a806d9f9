"""Where sentences end, in the scripts of English, Vietnamese, Russian and Chinese."""

from __future__ import annotations

import re

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

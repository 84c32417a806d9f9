"""A word that tells which text somebody read, without telling the text."""

from __future__ import annotations

import hashlib

BIRDS = (
    "kestrel", "heron", "swallow", "magpie", "lapwing", "bittern", "plover", "curlew",
    "siskin", "linnet", "dunlin", "godwit", "pochard", "gadwall", "pintail", "wigeon",
)  # fmt: skip


def digest(text: str) -> str:
    """Return three words for a text: one of 4,096 triples, none of which reads as anything sensitive."""
    value = int.from_bytes(hashlib.sha256(text.encode()).digest()[:2], "big")
    return "-".join(BIRDS[value >> shift & 15] for shift in (0, 4, 8))

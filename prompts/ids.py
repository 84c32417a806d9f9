"""Name a prompt so that what was made with it can be told from what another wording made."""

from __future__ import annotations

import hashlib


def prompt_id(name: str, text: str) -> str:
    """Return the id of a prompt: what it is for, and a digest of its text, which it does not tell.

    Example:
        >>> prompt_id("assistant", "Be brief.")
        'assistant@213c22ed'
    """
    return f"{name}@{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"

"""How a word may be written where it is looked for: in small and large letters, as JSON escapes it, and as hexadecimal digits of its bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence


def in_text(word: str) -> str:
    """Return a regular expression that finds a word in a text, for Python and for PostgreSQL. JSON in JSON has more backslashes."""
    return _spelled(word, lambda char: r"\\\\*" if char == "\\" else re.escape(char))


def in_columns(words: Sequence[str]) -> str | None:
    """Return the same of any of `words`, also for bytes as PostgreSQL shows them; None if there is none."""
    said = [form for word in words for form in (in_text(word), _spelled(word, _in_hex))]
    return "|".join(said) or None


def _in_hex(char: str) -> str:
    return "5c(?:5c)*" if char == "\\" else char.encode().hex()


def _spelled(word: str, written: Callable[[str], str]) -> str:
    return "".join(f"(?:{'|'.join(''.join(map(written, form)) for form in _forms(char))})" for char in word)


def _forms(char: str) -> list[str]:
    forms = {char, char.lower(), char.upper()}
    escaped = {json.dumps(form)[1:-1] for form in forms}
    return sorted(forms | escaped | {form.upper().replace("\\U", "\\u") for form in escaped if "\\u" in form})

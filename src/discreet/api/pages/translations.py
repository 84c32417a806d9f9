"""The words of pages in other languages than the English that they are written in."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from discreet.redaction.thread_offload import read_apart


class Translations:
    """A file of TOML with a table for each language: what an English text is in it."""

    def __init__(self, file: Path) -> None:
        """Read `file` with the first text that is asked for, and once."""
        self._words = cache(lambda: read_apart(lambda: tomllib.loads(file.read_text(encoding="utf-8"))))

    @property
    def words(self) -> Mapping[str, Mapping[str, str]]:
        """All texts, by language and by what they are in English."""
        return self._words()

    def translate(self, text: str, language: str) -> str:
        """Return `text` in a language; as it is where that has no words for it."""
        return self.words.get(language, {}).get(text, text)

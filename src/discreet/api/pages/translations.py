"""The words of pages in other languages than the English that they are written in."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.redaction.thread_offload import read_apart


class Translations:
    """A file of TOML with a table for each language: what an English text is in it."""

    def __init__(self, file: Path) -> None:
        """Read `file` with the first text that is asked for, and once."""
        self._path = file

    @cached_property
    def file(self) -> Mapping[str, Any]:
        """What the file has: all texts, by language and by what they are in English, and whatever else its page keeps there."""
        return read_apart(lambda: tomllib.loads(self._path.read_text(encoding="utf-8")))

    def translate(self, text: str, language: str) -> str:
        """Return `text` in a language; as it is where that has no words for it."""
        words: Mapping[str, str] = self.file.get(language, {})
        return words.get(text, text)

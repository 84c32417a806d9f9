"""Search what a day has left: all tables and large objects."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from kit.places import rows, text_of

from discreet.storage.embedded import lease_server

HAN = re.compile(r"[\u4e00-\u9fff]+")
WORD = re.compile(r"\w+")
WORDS = 6
CHARACTERS = 10


def dump(data_dir: Path) -> dict[str, str]:
    """Return the text of each table of the embedded server."""
    with lease_server(data_dir) as dsn:
        return {place: text_of(data) for place, data in rows(dsn)}


def runs(text: str) -> set[str]:
    """Return all runs of six words, and of ten Chinese characters."""
    text = text.casefold()
    words = WORD.findall(text)
    found = {" ".join(words[place : place + WORDS]) for place in range(len(words) - WORDS + 1)}
    for part in _clauses(text):
        found |= {part[place : place + CHARACTERS] for place in range(len(part) - CHARACTERS + 1)}
    return found


def _clauses(text: str) -> Iterable[str]:
    """Yield Chinese text without its punctuation, so that a run goes over a comma."""
    return HAN.findall(re.sub(r"[，。、：；！？\s]+", "", text))

"""Look for runs of a transcript's words in what is kept."""

from __future__ import annotations

import re

HAN = re.compile("[一-鿿]")


def runs_kept(transcript: str, kept: str, *, words: int = 5, characters: int = 8) -> list[str]:
    """Return which runs of so many words of `transcript`, in Chinese characters, stand in `kept`, whatever stands between."""
    in_words = _runs(_words(transcript), _words(kept), words)
    return in_words + _runs(_characters(transcript), _characters(kept), characters)


def _runs(spoken: list[str], kept: list[str], length: int) -> list[str]:
    found = f" {' '.join(kept)} "
    runs = (f" {' '.join(spoken[at : at + length])} " for at in range(len(spoken) - length + 1))
    return [run for run in runs if run in found]


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.casefold()) if not HAN.search(word)]


def _characters(text: str) -> list[str]:
    return HAN.findall(text)

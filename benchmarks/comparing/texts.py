"""Texts that neither compress nor repeat."""

from __future__ import annotations

import random
import string
from functools import cache

NOISE = string.ascii_letters + string.digits
SYLLABLES = [consonant + rest for consonant in "bdfgklmnprstvz" for rest in ("a", "an", "e", "el", "i", "o", "or", "u")]
VOCABULARY = 4_000
"""Invented words, each as likely as any other; fewer would let PostgreSQL compress prose more than it does real texts."""


class Texts:
    """Random texts, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._words = _words()

    def prose(self, characters: int) -> str:
        """Return words, each eighth a common one: without, a redactor takes them for the recovery phrase of a wallet."""
        words = self._random.choices(self._words, k=characters // 2)
        words[7::8] = ["and"] * len(words[7::8])
        return " ".join(words)[: characters - 1] + "."

    def noise(self, characters: int) -> str:
        """Return letters and digits that PostgreSQL can't compress."""
        return "".join(self._random.choices(NOISE, k=characters))


@cache
def _words() -> list[str]:
    syllables = random.Random(0)
    return ["".join(syllables.choices(SYLLABLES, k=1 + number % 3)) for number in range(VOCABULARY)]

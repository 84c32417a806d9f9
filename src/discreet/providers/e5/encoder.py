"""Build the encoder of the model as ONNX has it: from embedded pieces to what it makes of each."""

from __future__ import annotations

from typing import Final

import numpy as np

from discreet.providers.e5 import protobuf
from discreet.providers.e5.weights import BLOCK, Weights

GIVEN: Final = "pieces"
RESULT: Final = "states"

BITS: Final = 8
GROUP: Final = 2 * BLOCK
"""Weights that share a scale once they have eight bits: 12 % less CPU than the blocks of four bits as they are stored."""

INT8: Final = 4
"""`accuracy_level` of MatMulNBits: activations are rounded to eight bits by group too."""


def encoder(weights: Weights) -> bytes:
    """Return the model. It takes (1, pieces, width) floats and gives as many."""
    builder = _Builder(weights)
    shape = weights.shape
    last = builder.normalised("emb.ln", GIVEN)
    for number in range(shape.layers):
        last = builder.layer(f"l{number}", last)
    builder.nodes.append(protobuf.node("Identity", [last], RESULT))
    given, result = (protobuf.value(name, [1, "pieces", shape.width]) for name in (GIVEN, RESULT))
    return protobuf.model(builder.nodes, builder.tensors, given, result)


class _Builder:
    def __init__(self, weights: Weights) -> None:
        self.nodes: list[bytes] = []
        self.tensors: list[bytes] = []
        self._weights = weights

    def layer(self, name: str, given: str) -> str:
        """Add one layer of BERT (Devlin et al., 2019): attention, then two dense ones, each beside what goes past it."""
        width, inner = self._weights.shape.width, self._weights.shape.inner
        asked = [self.dense(f"{name}.{part}", given, width, width) for part in "qkv"]
        self._add("MultiHeadAttention", asked, f"{name}.attended", "com.microsoft", num_heads=self._weights.shape.heads)
        told = self.dense(f"{name}.ao", f"{name}.attended", width, width)
        self._add("Add", [given, told], f"{name}.beside")
        between = self.normalised(f"{name}.aln", f"{name}.beside")
        self._add("Gelu", [self.dense(f"{name}.fi", between, inner, width)], f"{name}.bent", "com.microsoft")
        told = self.dense(f"{name}.fo", f"{name}.bent", width, inner)
        self._add("Add", [between, told], f"{name}.past")
        return self.normalised(f"{name}.oln", f"{name}.past")

    def dense(self, name: str, given: str, rows: int, columns: int) -> str:
        """Add a matrix in eight bits and what is added to its product."""
        groups = self._weights.matrix(f"{name}.w", rows, columns).reshape(rows, -1, GROUP)
        scales = np.maximum(np.abs(groups).max(-1), np.finfo(np.float32).tiny) / 127
        self._tensor(f"{name}.w", (np.rint(groups / scales[..., np.newaxis]) + 128).astype(np.uint8))
        self._tensor(f"{name}.s", scales.reshape(-1))
        self._tensor(f"{name}.b", self._weights.floats(f"{name}.b", rows))
        made_of = [given, f"{name}.w", f"{name}.s", "", "", f"{name}.b"]  # neither zero points nor an order of columns
        sizes = {"K": columns, "N": rows, "bits": BITS, "block_size": GROUP, "accuracy_level": INT8}
        return self._add("MatMulNBits", made_of, name, "com.microsoft", **sizes)

    def normalised(self, name: str, given: str) -> str:
        """Add a layer norm."""
        for part in "wb":
            self._tensor(f"{name}.{part}", self._weights.floats(f"{name}.{part}", self._weights.shape.width))
        made_of = [given, f"{name}.w", f"{name}.b"]
        return self._add("LayerNormalization", made_of, name, epsilon=float(self._weights.shape.epsilon))

    def _add(self, kind: str, given: list[str], name: str, domain: str = "", **attributes: float) -> str:
        self.nodes.append(protobuf.node(kind, given, name, domain=domain, **attributes))
        return name

    def _tensor(self, name: str, values: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> None:
        self.tensors.append(protobuf.tensor(name, values))

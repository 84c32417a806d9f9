"""Write the few messages of ONNX that a model is made of, in protobuf's wire format (onnx.proto3, IR version 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

FLOAT: Final = 1
UINT8: Final = 2

IR_VERSION = 8
OPSETS: Final = {"": 17, "com.microsoft": 1}

_TYPES: Final = {"float32": FLOAT, "uint8": UINT8}
_FLOAT_ATTRIBUTE, _INT_ATTRIBUTE, _INTS_ATTRIBUTE = 1, 2, 7


def node(kind: str, inputs: Iterable[str], output: str, *, domain: str = "", **attributes: float | list[int]) -> bytes:
    """Return a NodeProto."""
    written = [_text(1, name) for name in inputs] + [_text(2, output), _text(4, kind), _text(7, domain)]
    return b"".join([*written, *(_bytes(5, _attribute(name, value)) for name, value in attributes.items())])


def tensor(name: str, values: np.ndarray[Any, Any]) -> bytes:
    """Return a TensorProto."""
    sizes = b"".join(_int(1, size) for size in values.shape)
    return (
        sizes + _int(2, _TYPES[values.dtype.name]) + _text(8, name) + _bytes(9, np.ascontiguousarray(values).tobytes())
    )


def value(name: str, sizes: Iterable[int | str]) -> bytes:
    """Return a ValueInfoProto of floats; a size that is a word may be any."""
    shape = b"".join(_bytes(1, _text(2, size) if isinstance(size, str) else _int(1, size)) for size in sizes)
    return _text(1, name) + _bytes(2, _bytes(1, _int(1, FLOAT) + _bytes(2, shape)))


def model(nodes: Iterable[bytes], tensors: Iterable[bytes], given: bytes, result: bytes) -> bytes:
    """Return a ModelProto of one graph with one input and one output."""
    graph = [_bytes(1, each) for each in nodes] + [_text(2, "e5")] + [_bytes(5, each) for each in tensors]
    graph += [_bytes(11, given), _bytes(12, result)]
    opsets: Mapping[str, int] = OPSETS
    sets = [_bytes(8, _text(1, domain) + _int(2, version)) for domain, version in opsets.items()]
    return b"".join([_int(1, IR_VERSION), _bytes(7, b"".join(graph)), *sets])


def _attribute(name: str, value: float | list[int]) -> bytes:
    if isinstance(value, list):
        return _text(1, name) + b"".join(_int(8, each) for each in value) + _int(20, _INTS_ATTRIBUTE)
    if isinstance(value, int):
        return _text(1, name) + _int(3, value) + _int(20, _INT_ATTRIBUTE)
    return _text(1, name) + _tag(2, 5) + np.float32(value).tobytes() + _int(20, _FLOAT_ATTRIBUTE)


def _tag(field: int, wire: int) -> bytes:
    return _varint(field << 3 | wire)


def _int(field: int, number: int) -> bytes:
    return _tag(field, 0) + _varint(number)


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())


def _bytes(field: int, written: bytes) -> bytes:
    return _tag(field, 2) + _varint(len(written)) + written


def _varint(number: int) -> bytes:
    written = bytearray()
    while number > 127:  # seven bits a byte
        written.append(number & 127 | 128)
        number >>= 7
    return bytes([*written, number])

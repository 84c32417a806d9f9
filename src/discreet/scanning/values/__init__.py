"""Read what a serializer has written without making any object of it, and write it again with other texts."""

from discreet.scanning.values.arrays import array_with, is_array, texts_of_array
from discreet.scanning.values.decoding import MAX_VALUE_BYTES, Decoded, decode, decode_typed, encode
from discreet.scanning.values.foreign import Foreign, Opaque, Sealed
from discreet.scanning.values.pickles import Pickled

__all__ = [
    "MAX_VALUE_BYTES",
    "Decoded",
    "Foreign",
    "Opaque",
    "Pickled",
    "Sealed",
    "array_with",
    "decode",
    "decode_typed",
    "encode",
    "is_array",
    "texts_of_array",
]

"""Read what a serializer has written without making any object of it, and write it again with other texts."""

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
    "decode",
    "decode_typed",
    "encode",
]

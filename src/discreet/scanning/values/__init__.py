"""Read what a serializer has written without making any object of it, and write it again with other texts."""

from discreet.scanning.values.arrays import (
    array_of,
    array_with,
    bytes_of_array,
    fitted,
    is_array,
    numbers_of_array,
    texts_of_array,
)
from discreet.scanning.values.decoding import MAX_VALUE_BYTES, Decoded, decode, decode_typed, encode
from discreet.scanning.values.foreign import Foreign, Opaque, Sealed
from discreet.scanning.values.pickles import Pickled
from discreet.scanning.values.spelled import Spelled, is_ascii, spelled
from discreet.scanning.values.streams import Room, Stream

__all__ = [
    "MAX_VALUE_BYTES",
    "Decoded",
    "Foreign",
    "Opaque",
    "Pickled",
    "Room",
    "Sealed",
    "Spelled",
    "Stream",
    "array_of",
    "array_with",
    "bytes_of_array",
    "decode",
    "decode_typed",
    "encode",
    "fitted",
    "is_array",
    "is_ascii",
    "numbers_of_array",
    "spelled",
    "texts_of_array",
]

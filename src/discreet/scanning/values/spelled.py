"""Tell numbers that spell a text from those that count something: code points, or bytes one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from discreet.redaction.decode import CODECS, text_of
from discreet.scanning.values.pickles import is_pickle
from discreet.scanning.values.streams import is_stream

WIDE: Final = (*CODECS[1:], "utf-32-le", "utf-32-be")
"""Codecs of several bytes a character."""
_LEAST_ITEMS: Final = 6
"""No shorter value is spelled: an address such as a@b.de."""
_LEAST_NUMBERS: Final = 0.75
"""Of the items of a list; the others are None."""
_CODE_POINTS: Final = range(0x110000)
_BYTES: Final = range(256)
_LEAST_PRINTABLE: Final = 0.95
_UNUSUAL: Final = re.compile(r"[\u0180-\u019f\u01a2-\u01ae\u01b1-\u02ff\u3400-\u4dbf\ua000-\uabff]")
"""Letters of phonetics and of few languages, which counts up to some thousands are full of; the horned ones of Vietnamese aren't among them."""
_NUMBER: Final = re.compile(r"[\d\s()+.-]+")
"""What is nothing but somebody's number."""
_JSON: Final = re.compile(r"\s*(?:\{.*\}|\[.*\])\s*", re.DOTALL)
_LEAST_SMALL: Final = 0.4
_LEAST_LETTERS: Final = 0.9
"""Of what is neither a digit nor a space: of texts in small letters, or without a case, and of those in capitals. Of numbers that
count something more are signs."""


class Spelled(NamedTuple):
    """What a list of numbers spells."""

    content: str | bytes
    """A text, or bytes of another kind."""
    is_utf_8: bool = False
    """Of a text: whether its bytes are the numbers, not its code points."""

    @property
    def is_number(self) -> bool:
        """Whether it is nothing but digits, as numbers of 48 to 57 are: what is somebody's has more to tell it by."""
        return isinstance(self.content, str) and self.content.isdigit()

    def numbers(self, content: str | bytes) -> list[int]:
        """Return the numbers that spell another content of this kind."""
        if isinstance(content, bytes):
            return list(content)
        return list(content.encode("utf-8", "replace")) if self.is_utf_8 else list(map(ord, content))


def spelled(value: Sequence[Any]) -> Spelled | None:
    """Return what a list of whole numbers spells; None if it doesn't, and counts something. A None here and there is left out."""
    numbers = [item for item in value if item is not None]
    if len(numbers) < max(_LEAST_ITEMS, _LEAST_NUMBERS * len(value)) or not all(map(_is_code_point, numbers)):
        return None
    if max(numbers) in _BYTES:
        data = bytes(numbers)
        if is_stream(data) or is_pickle(data) or any(is_written(text_of(data, codec) or "") for codec in WIDE):
            return Spelled(data)
        try:
            text = data.decode()
            return Spelled(text, is_utf_8=True) if is_written(text) else None
        except UnicodeDecodeError:
            pass
    text = "".join(map(chr, numbers))
    return Spelled(text) if is_written(text) else None


def is_ascii(numbers: Sequence[int]) -> bool:
    """Return whether numbers, whatever they count, would be a text of ASCII if they were bytes."""
    return bool(numbers) and min(numbers) > 0 and max(numbers) < 0x80  # where ASCII ends


def is_written(text: str) -> bool:
    """Return whether a text is one that somebody has written, rather than numbers that are read as one."""
    printable = sum(sign.isprintable() or sign.isspace() for sign in text)
    printable -= len(_UNUSUAL.findall(text))
    if len(set(text)) < 2 or printable < _LEAST_PRINTABLE * len(text):
        return False
    if _NUMBER.fullmatch(text) or _JSON.fullmatch(text):
        return True
    signs = [sign for sign in text if not sign.isdigit() and not sign.isspace()]
    letters = [sign for sign in signs if sign.isalpha()]
    small = sum(not sign.isupper() for sign in letters)
    return small >= _LEAST_SMALL * len(signs) or len(letters) >= _LEAST_LETTERS * len(signs)


def _is_code_point(item: Any) -> bool:
    return isinstance(item, int) and not isinstance(item, bool) and item in _CODE_POINTS

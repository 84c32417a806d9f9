"""Find what a person could read in bytes that are no text as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from discreet.scanning.values.spelled import WIDE, is_written

_RUN: Final = re.compile(
    rb"(?:[\x20-\x7e]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|\xf0[\x90-\xbf][\x80-\xbf]{2}){6,}+"
)
"""Characters of UTF-8."""
_LONG: Final = 16
"""Characters. Of random bytes few runs are as long."""
_SHORT: Final = re.compile(r"[a-z0-9._+-]{2,}@[a-z0-9-]{2,}\.[a-z]{2,}|[0-9](?:[ .()-]{0,2}[0-9]){8,}")
"""What makes a shorter one worth a look."""
_LEAST_SHARE: Final = 0.85
_BESIDE: Final = frozenset(" .,:;@_-+/=()'\"")
"""What stands between letters and digits where something is said."""

_LITTLE: Final = rb"(?:[\x20-\x7e\t\r\n]\0|[\x01-\xff][\x01-\x06\x1e\x20\x30\x4e-\x9f\xff]|[\x80-\xff]\0)"
_BIG: Final = rb"(?:\0[\x20-\x7e\t\r\n]|[\x01-\x06\x1e\x20\x30\x4e-\x9f\xff][\x01-\xff]|\0[\x80-\xff])"
"""A character of European, Vietnamese and Chinese text in UTF-16."""
_WIDE: Final = {
    codec: re.compile(rb"(?:%b){6,}+" % sign, re.DOTALL)
    for codec, sign in zip(WIDE, (_LITTLE, _BIG, _LITTLE + rb"\0\0", rb"\0\0" + _BIG), strict=True)
}
_PLAIN: Final = re.compile(r"[\x20-\x7e]{4}")
"""What is in all of it that is worth a look: signs, digits or Latin letters one after the other, which chance doesn't make."""


class Run(NamedTuple):
    """A text in bytes."""

    start: int
    end: int
    text: str
    codec: str


def runs(data: bytes) -> Iterator[Run]:
    """Yield the texts in bytes, in UTF-8, and in UTF-16 and UTF-32 of both orders."""
    for match in _RUN.finditer(data):
        text = match[0].decode("utf-8", "replace")
        if _is_said(text) and (_SHORT.search(text) or (len(text) >= _LONG and is_written(text))):
            yield Run(*match.span(), text, "utf-8")
    for codec, pattern in _WIDE.items():
        for match in pattern.finditer(data):
            text = match[0].decode(codec, "replace")
            if _PLAIN.search(text):
                yield Run(*match.span(), text, codec)


def _is_said(text: str) -> bool:
    return len(set(text)) > 1 and sum(sign.isalnum() or sign in _BESIDE for sign in text) >= _LEAST_SHARE * len(text)

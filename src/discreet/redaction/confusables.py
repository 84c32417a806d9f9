"""Cyrillic and Greek letters that pass for Latin ones."""

from __future__ import annotations

import re

_CYRILLIC = dict(zip("аеорсухіјѕһԁԛԝьАВЕКМНОРСТУХІЈЅҺԌԚԜ", "aeopcyxijshdqwbABEKMHOPCTYXIJSHGQW", strict=True))
_GREEK = dict(zip("οαινρυτκχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "oaivputkxABEZHIKMNOPTYX", strict=True))
_OTHER = dict(zip("ɑɡοօᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏᴢ", "agooabcdeghijklmnoprtuvwyz", strict=True))

LATIN = str.maketrans(_CYRILLIC | _GREEK | _OTHER)
"""Look-alike -> the Latin letter (Unicode Technical Standard 39, confusables; those of one letter for one)."""

_ALIKE = "".join(map(chr, LATIN))
ALIKE = frozenset(_ALIKE)

MIXED_WORD = re.compile(
    rf"(?<![^\W\d_])(?:[A-Za-z]{{1,64}}[{_ALIKE}]|[{_ALIKE}]{{1,64}}[A-Za-z])[A-Za-z{_ALIKE}]{{0,64}}(?![^\W\d_])"
)
"""A word of both Latin letters and look-alikes and of nothing else; words of one script are what they seem."""

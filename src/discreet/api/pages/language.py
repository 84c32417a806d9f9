"""Say which language a text is in, so that a browser takes the right glyphs and a screen reader the right voice."""

from __future__ import annotations

import re

from discreet.state.text import VIETNAMESE

_LANGUAGES = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("zh", re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003134f]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("vi", re.compile(f"[{VIETNAMESE}]", re.IGNORECASE)),
)


def language_of(text: str) -> str:
    """Return the code of the language that the letters of `text` tell; empty if they don't, which HTML reads as unknown.

    Example:
        >>> language_of("Anh ấy sống ở Huế"), language_of("Живёт в Москве"), language_of("住在上海"), language_of("Ann")
        ('vi', 'ru', 'zh', '')
    """
    return next((language for language, letters in _LANGUAGES if letters.search(text)), "")

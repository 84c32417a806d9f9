"""The reply to a message that is being answered already."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

from discreet.state.letters import VIETNAMESE

_LETTERS = {
    "vi": re.compile(f"[{VIETNAMESE}]", re.IGNORECASE),
    "ru": re.compile(r"[\u0430-\u044f\u0451]", re.IGNORECASE),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
}


def render_still_working(text: str) -> str:
    """Return the reply in the language that `text` seems to be in, English if none of the others."""
    return _replies()[next((language for language, letters in _LETTERS.items() if letters.search(text)), "en")]


@cache
def _replies() -> dict[str, str]:
    return tomllib.loads(files(__package__).joinpath("still_working.toml").read_text(encoding="utf-8"))

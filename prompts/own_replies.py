"""Sentences that no model writes, in the language of whoever reads them."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

from discreet.state.letters import VIETNAMESE

_LETTERS = {
    "vi": re.compile(f"[{VIETNAMESE}]", re.IGNORECASE),
    "ru": re.compile(r"[\u0430-\u044f\u0451]", re.IGNORECASE),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
}


def render_reply(what: Literal["still_working", "unavailable"], text: str) -> str:
    """Return a reply in the language that `text` seems to be in, English if none of the others.

    `still_working` is for a message that is being answered already, `unavailable` where memories can't be reached.
    """
    return _replies(what)[next((language for language, letters in _LETTERS.items() if letters.search(text)), "en")]


@cache
def _replies(what: str) -> dict[str, str]:
    return tomllib.loads(files(__package__).joinpath(f"{what}.toml").read_text(encoding="utf-8"))

"""Read the texts that lie beside this module: instructions for models, and replies that no model writes."""

from __future__ import annotations

import hashlib
import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

from discreet.state.text import VIETNAMESE

_LETTERS = {
    "vi": re.compile(f"[{VIETNAMESE}]", re.IGNORECASE),
    "ru": re.compile(r"[\u0430-\u044f\u0451]", re.IGNORECASE),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
}


@cache
def prompt_text(name: str) -> str:
    """Return the text of `<name>.md`, without the line breaks inside its paragraphs."""
    text = files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))


def prompt_id(name: str, text: str) -> str:
    """Return the id of a prompt, which tells it from another wording: what it is for, and a digest of its text.

    Example:
        >>> prompt_id("assistant", "Be brief.")
        'assistant@213c22ed'
    """
    return f"{name}@{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def render_reply(what: Literal["still_working", "unavailable"], text: str) -> str:
    """Return a reply in the language that `text` seems to be in, English if none of the others.

    `still_working` is for a message that is being answered already, `unavailable` where memories can't be reached.
    """
    return _replies(what)[next((language for language, letters in _LETTERS.items() if letters.search(text)), "en")]


@cache
def _replies(what: str) -> dict[str, str]:
    return tomllib.loads(files(__package__).joinpath(f"{what}.toml").read_text(encoding="utf-8"))

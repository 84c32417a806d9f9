"""Read the prompt texts that lie beside this module."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def prompt_text(name: str) -> str:
    """Return the text of `<name>.md`, without the line breaks inside its paragraphs."""
    text = files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))

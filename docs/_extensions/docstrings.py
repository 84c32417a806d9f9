"""Let autodoc read the docstrings of this code, which quote names as Markdown does: `name`."""

from __future__ import annotations

import re

# autodoc imports with TYPE_CHECKING set, which pydantic's models of FastAPI don't bear: so it comes before.
import fastapi  # noqa: F401  # see above
from sphinx.application import Sphinx

QUOTED = re.compile(r"(?<![`:\w])`([^`]+)`(?!`)", re.DOTALL)


def as_restructured_text(text: str) -> str:
    """Return the text with what stands in single backticks as literal text, whatever comes after it."""
    pieces = QUOTED.split(text)  # what is quoted is every other one
    pieces[::2] = [re.sub(r"([*_|])", r"\\\1", each) for each in pieces[::2]]
    pieces[1::2] = [f"``{' '.join(each.split())}``\\ " for each in pieces[1::2]]
    return "".join(pieces)


def _process(_app: Sphinx, _what: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    blocks = re.split(r"(\n[ ]*\n)", "\n".join(lines))
    lines[:] = "".join(each if ">>>" in each else as_restructured_text(each) for each in blocks).split("\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to autodoc, before napoleon reads the sections."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

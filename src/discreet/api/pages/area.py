"""A group of pages below one address, with sessions of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


def as_written(text: str, language: str) -> str:  # noqa: ARG001  # English is what the pages are written in
    """Return `text` itself."""
    return text


@dataclass(frozen=True, kw_only=True)
class Area:
    """What differs from one group of pages to the next."""

    name: str
    """In the name of the cookie, in what it is signed with, and in log events."""
    prefix: str
    """Where the pages are, below what the server is mounted at."""
    home: str
    """The page that one lands on, below the prefix."""
    title: str
    """Beside the name of the product in the header."""
    footer: str
    """At the end of every page."""
    folder: Path
    """Has `templates` and perhaps `static`, which come before those that all pages share."""
    menu: Sequence[tuple[str, str]]
    """What the header leads to: where, below the prefix, and in which words."""
    admins_only: bool = False
    """Whether only administrators get a session."""
    signs_in: bool = True
    """Whether people sign in. Else whoever may open the pages gets a session with the first of them."""
    languages: Sequence[str] = ("en",)
    """That the words of the pages are there in; the first where a browser asks for none of them."""
    translate: Callable[[str, str], str] = as_written
    """Returns an English text of a page in a language."""

    @property
    def cookie(self) -> str:
        """Return the name of the cookie."""
        return f"discreet_{self.name}"

"""What ends a request with a page that says why."""

from __future__ import annotations


class PageError(Exception):
    """A page with another status than 200. Its words are ours: they hold nothing that a user said."""

    def __init__(self, status: int, title: str, text: str) -> None:
        self.status, self.title, self.text = status, title, text
        super().__init__(title)


class SignInError(Exception):
    """Nobody is signed in: the login page is shown."""


def no_such_page() -> PageError:
    """Return what says that nothing is there."""
    return PageError(404, "There is no such page", "It may have been deleted, or the address is wrong.")

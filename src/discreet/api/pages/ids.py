"""Read ids from addresses."""

from __future__ import annotations

from uuid import UUID

from discreet.api.pages.errors import no_such_page


def id_in(text: str) -> UUID:
    """Return the id that a part of an address is.

    Raises:
        PageError: It is none.
    """
    if (found := id_or_none(text)) is None:
        raise no_such_page()
    return found


def id_or_none(text: str) -> UUID | None:
    """Return the id that a text is; None if it is none."""
    try:
        return UUID(text)
    except ValueError:
        return None

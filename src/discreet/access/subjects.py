"""Names of those who call."""

from __future__ import annotations

from typing import Final

from discreet.errors import InvalidUserError, UnauthorisedError
from discreet.state.ids import check_user_id

ANONYMOUS: Final = "anonymous"
"""Who sends no credentials, where that is allowed."""

STUDIO: Final = "studio"
"""Who uses LangGraph Studio on a development server, which asks nobody for a token there."""

RESERVED: Final = frozenset({ANONYMOUS, STUDIO})
"""No token and no key may name one of these: it would be somebody else's."""


def check_subject(subject: object) -> str:
    """Return `subject` if it can stand for a person.

    Raises:
        UnauthorisedError: It is blank, too long or not printable, or is reserved.
    """
    try:
        checked = check_user_id(subject)
    except InvalidUserError:
        raise UnauthorisedError("The credentials name nobody: a subject has 1 to 200 printable characters.") from None
    if checked in RESERVED:
        raise UnauthorisedError(f"The credentials name “{checked}”, which is reserved. Use another subject.")
    return checked

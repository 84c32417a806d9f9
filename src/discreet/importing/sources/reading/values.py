"""Check values that others have stored. What is refused is named, and never quoted."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NoReturn

from discreet.errors import InvalidUserError
from discreet.importing.sources.reading.rows import UnreadableRowError
from discreet.state.ids import check_user_id, id_text
from discreet.state.records import in_utc
from discreet.state.text import storable

MAX_DEPTH = 100
"""Of lists and dicts within each other: what redacts them later calls itself for each."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECONDS_FROM = 1e11
"""A number from here on counts milliseconds: as such it is 1973, as seconds it would be the year 5138."""


def decoded(stored: object, what: str) -> str:
    """Return a text, which a database may have handed out as bytes.

    Raises:
        UnreadableRowError: It is no text, no UTF-8, or has what can't be stored.
    """
    if isinstance(stored, bytes):
        try:
            stored = stored.decode()
        except UnicodeDecodeError:
            raise UnreadableRowError(f"The {what} is not UTF-8: convert the file (iconv -t UTF-8).") from None
    if not isinstance(stored, str):
        raise UnreadableRowError(f"The {what} is missing." if stored is None else f"The {what} is no text.")
    if storable(stored) != stored:
        raise UnreadableRowError(f"The {what} has a NUL or a lone surrogate.")
    return stored


def optional_text(stored: object, what: str) -> str | None:
    """Return a text, None for one that is missing or blank; a whole number is taken as one, since ids often are.

    Raises:
        UnreadableRowError: As `decoded`.
    """
    if stored is None:
        return None
    if isinstance(stored, int) and not isinstance(stored, bool):
        return str(stored)
    return decoded(stored, what).strip() or None


def user_of(stored: object) -> str | None:
    """Return the id of a user, None where there is none.

    Raises:
        UnreadableRowError: It can't be one.
    """
    user_id = optional_text(id_text(stored) or stored, "user id")
    if user_id is not None:
        try:
            return check_user_id(user_id)
        except InvalidUserError:
            raise UnreadableRowError("The user id is too long, or has control characters.") from None
    return user_id


def parsed(stored: bytes | str, what: str) -> Any:
    """Return what JSON holds, all of which can be stored.

    Raises:
        UnreadableRowError: It is no JSON, or holds what can't be stored.
    """
    text = decoded(stored, what)
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except UnreadableRowError:
        raise
    except RecursionError:
        raise UnreadableRowError(f"The {what} is nested too deeply.") from None
    except ValueError:  # not chained: it holds the text
        raise UnreadableRowError(f"The {what} is not JSON.") from None
    return checked(value, what)


def checked(value: Any, what: str) -> Any:
    """Return `value`, which is JSON that was read, if all of it can be stored.

    Raises:
        UnreadableRowError: A text has a NUL or a lone surrogate, a number is not finite, or it is nested too deeply.
    """
    waiting: list[tuple[Any, int]] = [(value, 1)]
    while waiting:
        part, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise UnreadableRowError(f"The {what} is nested too deeply.")
        match part:
            case str():
                decoded(part, what)
            case float() if not math.isfinite(part):
                raise UnreadableRowError(f"The {what} has a number that is not finite.")
            case dict():
                waiting += [(inner, depth + 1) for pair in part.items() for inner in pair]
            case list():
                waiting += [(inner, depth + 1) for inner in part]
            case _:
                pass
    return value


def moment(stored: object, what: str) -> datetime:
    """Return a time: ISO 8601, in UTC where it has no zone, or a number of seconds or milliseconds since 1970.

    Raises:
        UnreadableRowError: It is none, or out of range.
    """
    if isinstance(stored, int | float) and not isinstance(stored, bool):
        unit = "milliseconds" if abs(stored) >= _MILLISECONDS_FROM else "seconds"
        try:
            return _EPOCH + timedelta(**{unit: stored})
        except (OverflowError, ValueError):
            raise UnreadableRowError(f"The {what} is out of range.") from None
    text = decoded(stored, what)
    try:
        at = datetime.fromisoformat(text.strip())
        return in_utc(at if at.tzinfo else at.replace(tzinfo=UTC))
    except ValueError:  # not chained: it holds the text
        raise UnreadableRowError(f"The {what} is no time, or out of range.") from None


def _no_constant(_name: str) -> NoReturn:
    """Refuse NaN and Infinity, which are no JSON."""
    raise UnreadableRowError("It has a number that is not finite.")

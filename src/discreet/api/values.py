"""Types of fields that requests have in common. They take what their JSON schema says, and nothing else."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from discreet.state.ids import id_as_text
from discreet.state.text import storable

EARLIEST: Final = datetime(1900, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)
"""Times outside are mistakes, and powers of their distance from now don't fit into a double."""

MAX_ID_CHARS = 200
MAX_COMMENT_CHARS = 4_000

_TIME = re.compile(r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?:([Zz])|([+ -])(\d\d):?(\d\d))")
"""RFC 3339, section 5.6. A space may stand for a plus: that is what an unquoted plus of a query string becomes."""


def _written_time(written: object) -> object:
    """Return a text as pydantic reads it; anything else, a number too, is no time."""
    if isinstance(written, datetime):
        return written
    match = _TIME.fullmatch(written) if isinstance(written, str) else None
    if match is None:
        raise PydanticCustomError("datetime_parsing", "not a time")
    time, utc, sign, hours, minutes = match.groups()
    return f"{time}Z" if utc else f"{time}{'-' if sign == '-' else '+'}{hours}:{minutes}"


def _in_range(moment: datetime) -> datetime:
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        moment = LATEST
    if not EARLIEST <= moment < LATEST:
        raise PydanticCustomError("moment_range", "out of range")
    return moment


def _not_blank(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "blank")
    return text


Moment = Annotated[AwareDatetime, BeforeValidator(_written_time), AfterValidator(_in_range)]
"""A time of the years 1900 to 2199, in UTC."""

UserName = Annotated[str, BeforeValidator(id_as_text, json_schema_input_type=str | int)]
"""What a caller names a user by; a number stands for its digits."""

Words = Annotated[str, AfterValidator(storable)]
"""A text as the database can hold it."""

Said = Annotated[Words, AfterValidator(_not_blank)]
"""One that says something."""

Id = Annotated[Said, StringConstraints(min_length=1, max_length=MAX_ID_CHARS)]
"""What the caller calls a session, a request or an agent."""

Label = Annotated[Said, StringConstraints(min_length=1, max_length=100)]
"""A tag or a flag."""

Labels = Annotated[list[Label], Field(max_length=50)]

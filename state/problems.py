"""What is wrong with a value, in words that repeat nothing of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

UNKNOWN: Final = "has a value that can't be taken"

_PROBLEMS: Final[Mapping[str, str]] = {
    "missing": "is needed",
    "extra_forbidden": "has a field that is not known",
    "string_type": "must be a text",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "has characters that can't be taken",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a number",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "uuid_type": "must be a UUID",
    "uuid_parsing": "must be a UUID",
    "datetime_type": "must be a time as in 2026-01-02T12:34:56Z",
    "datetime_parsing": "must be a time as in 2026-01-02T12:34:56Z",
    "datetime_from_date_parsing": "must be a time as in 2026-01-02T12:34:56Z",
    "datetime_object_invalid": "must be a time as in 2026-01-02T12:34:56Z",
    "moment_range": "must be a time of the years 1900 to 2199",
    "no_feedback": "must have a rating or a comment",
    "blank": "must say something",
    "timezone_aware": "must say its time zone, as in 2026-01-02T12:34:56Z",
    "literal_error": "must be one of {expected}",
    "list_type": "must be a list",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
}
"""By pydantic's type of error. Its own messages quote the input here and there."""


def problem_of(error: Mapping[str, Any]) -> str:
    """Return what one of pydantic's errors says."""
    return _PROBLEMS.get(error["type"], UNKNOWN).format_map(error.get("ctx", {}))

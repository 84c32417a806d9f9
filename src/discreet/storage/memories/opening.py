"""Build the one statement that reads what a turn needs before its model is asked, and touches its session."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, LiteralString

from discreet.storage.conversation.summaries import GET
from discreet.storage.database.users.epochs import FIRST_EPOCH
from discreet.storage.database.users.users import OWNER
from discreet.storage.memories.forgetting import MARKED
from discreet.storage.short_term.sql import TOUCHED

_BEGAN: LiteralString = f"""
coalesce((SELECT u.epoch FROM discreet.users u WHERE u.user_key = %(user_key)s), {FIRST_EPOCH}) AS turn_epoch"""

_BEGAN_TOUCHED: LiteralString = """
EXISTS (SELECT FROM owner) AS is_owner, (SELECT epoch FROM owner) AS turn_epoch,
set_config('synchronous_commit', 'off', true)"""

_COLUMNS: Final = ("text", "sealed_text", "rounds", "last_message_id")
_SUMMARY_NAMES: Final = ("summary_text", "summary_sealed_text", "summary_rounds", "summary_message_id")
_SUMMARY: LiteralString = f"""
LEFT JOIN ({GET}) AS s ({", ".join(_SUMMARY_NAMES)}) ON true"""

_NOTHING: LiteralString = "SELECT NULL::uuid AS entry_id WHERE false"

_OPEN: LiteralString = """
WITH {touched}found AS MATERIALIZED ({search})
SELECT known.*{columns}, found.*
FROM (SELECT {began}, ARRAY({marked}) AS turn_forgotten) AS known{summary}
LEFT JOIN found ON true
"""
"""A row for each that was found, one where nothing was; each has what is known besides."""


@lru_cache(maxsize=200)
def opening_statement(search: LiteralString | None, *, touches: bool, summary: bool) -> LiteralString:
    """Return the statement; `search` is that of a search.

    Its parameters besides are user_key and thread_key, and where it touches the session those of `OWNER` and `TOUCHED`.
    """
    return _OPEN.format(
        touched=f"{OWNER}, {TOUCHED}, " if touches else "",
        search=search or _NOTHING,
        columns=", s.*" if summary else "",
        began=_BEGAN_TOUCHED if touches else _BEGAN,
        marked=MARKED,
        summary=_SUMMARY if summary else "",
    )


def summary_row(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return of a row of the statement the row of the rolling summary; None where there is none."""
    found = {name: row[column] for name, column in zip(_COLUMNS, _SUMMARY_NAMES, strict=True)}
    return found if found["rounds"] is not None else None

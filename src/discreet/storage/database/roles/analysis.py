"""What an analyst sees: counts by the week, and so coarse that a memory or a turn more changes a number by one step at most.

Of an average each row counts up to a bound that moves it by less than a step where there are `FLOOR` rows. Weeks are those of UTC, whatever the
time zone of who asks: rows could be told apart by moving their ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, LiteralString, NamedTuple

from psycopg.sql import SQL, Composed, Identifier, Literal

from discreet.storage.database.roles.functions import with_rights
from discreet.storage.database.roles.names import RoleNames
from discreet.storage.database.roles.tables import Database

FLOOR: Final = 5
"""Users that a group has at least, or an analyst doesn't see it. Counts are multiples of it, rounded down."""


class _Analysis(NamedTuple):
    table: str
    columns: LiteralString
    query: LiteralString


VIEWS: Final[Mapping[LiteralString, _Analysis]] = {
    "analysis_memories": _Analysis(
        "memory",
        "type text, app_name text, week timestamptz, memories bigint, users bigint, importance integer, characters integer",
        """
    SELECT m.type::text, m.app_name, date_trunc('week', m.created_at, 'UTC'),
        count(*) / {floor} * {floor}, count(DISTINCT m.user_key) / {floor} * {floor},
        (2 * round(avg(m.importance) / 2))::integer, (100 * round(avg(least(length(m.text), 400)) / 100))::integer
    FROM {schema}.memory m
    WHERE m.type <> 'item'
    GROUP BY 1, 2, 3
    HAVING count(DISTINCT m.user_key) >= {floor}""",
    ),
    "analysis_turns": _Analysis(
        "conversation_log",
        "app_name text, modality text, week timestamptz, turns bigint, users bigint, emergencies bigint, duration interval",
        """
    SELECT l.app_name, l.modality, date_trunc('week', l.started_at, 'UTC'),
        count(*) / {floor} * {floor}, count(DISTINCT l.user_key) / {floor} * {floor},
        CASE WHEN count(DISTINCT l.user_key) FILTER (WHERE l.is_emergency) >= {floor}
            THEN count(*) FILTER (WHERE l.is_emergency) / {floor} * {floor} END,
        15 * round(avg(least(extract(epoch FROM l.ended_at - l.started_at), 60)) / 15) * interval '1 second'
    FROM {schema}.conversation_log l
    GROUP BY 1, 2, 3
    HAVING count(DISTINCT l.user_key) >= {floor}""",
    ),
}
"""By name: whose owner's rights it has, what it shows, and what that is made of."""

_COUNT: Final[LiteralString] = """
CREATE OR REPLACE FUNCTION {function}() RETURNS TABLE ({columns})
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY {query};
END
$$"""
"""Counts apart from whoever reads the view: a plan of theirs, or a condition that they add, would tell of groups that they don't see."""


def views(there: Database, names: RoleNames) -> Iterator[Composed]:
    """Yield what makes the views."""
    schema = Identifier(there.schema)
    readers = (names.analyst, names.backup)
    owners = {table.name: table.owner for table in there.tables if table.schema == there.schema}
    for name, (table, columns, query) in VIEWS.items():
        view, function = (SQL("{}.{}").format(schema, Identifier(each)) for each in (name, f"{name}_counted"))
        yield SQL("DROP VIEW IF EXISTS {}").format(view)
        yield SQL(_COUNT).format(
            function=function,
            columns=SQL(columns),
            query=SQL(query).format(schema=schema, floor=Literal(FLOOR)),
        )
        yield from with_rights(there, names, SQL("{}()").format(function), owners[table], readers)
        yield SQL("CREATE VIEW {} AS SELECT * FROM {}()").format(view, function)
        for role in readers:
            yield SQL("GRANT SELECT ON {} TO {}").format(view, Identifier(role))

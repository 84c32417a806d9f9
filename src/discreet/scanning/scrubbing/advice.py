"""Say what takes the old rows out of the files: the database keeps them until then."""

from __future__ import annotations

from collections.abc import Collection

from psycopg import sql

from discreet.driver_errors import storage_errors
from discreet.scanning.databases.postgres import PostgresDatabase
from discreet.scanning.databases.sqlite import SqliteDatabase
from discreet.scanning.scrubbing.report import Advice


def advice(database: PostgresDatabase | SqliteDatabase, changed: Collection[str]) -> list[Advice]:
    """Return a statement for each of the tables `changed`, by their labels, with what the table takes now."""
    tables = database.catalog(every=True).tables
    views = [table for table in tables if table.is_view]
    tables = [table for table in tables if table.label in changed]
    if isinstance(database, SqliteDatabase):
        return [Advice(statement="VACUUM", bytes=sum(table.bytes for table in tables))] if tables else []
    with storage_errors():
        found = [
            Advice(
                statement=sql.SQL("{} {}")
                .format(sql.SQL(command), sql.Identifier(table.schema, table.name))
                .as_string(database.connection),
                bytes=table.bytes,
            )
            for command, chosen in (
                ("REFRESH MATERIALIZED VIEW", views if tables else []),
                ("VACUUM (FULL, ANALYZE)", tables),
            )
            for table in chosen
        ]
        return [*found, *_of_statistics(database)] if tables else found


def _of_statistics(database: PostgresDatabase) -> list[Advice]:
    """Return a statement for the planner's statistics: they hold values of columns, those of before too."""
    row = database.connection.execute("SELECT pg_total_relation_size('pg_catalog.pg_statistic')").fetchone()
    size = next(iter(row.values() if isinstance(row, dict) else row or ()), 0)
    return [Advice(statement="VACUUM (FULL) pg_catalog.pg_statistic", bytes=int(size))]

"""Rows of a PostgreSQL database: read in one snapshot, or a page at a time beside a running application."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any, Final, LiteralString

import psycopg
from psycopg import IsolationLevel, sql
from psycopg.rows import dict_row, tuple_row

from discreet.driver_errors import storage_errors
from discreet.errors import ScanError
from discreet.scanning.databases.base import INLINE_BYTES, PAGE_ROWS, Catalog, Column, Form, Key, Refused, Row, Table
from discreet.scanning.profiles import OTHER, VERSIONS, Profile, profile_of
from discreet.scanning.values import MAX_VALUE_BYTES

_TABLES: LiteralString = """
SELECT
    c.oid::bigint AS oid, n.nspname::text AS schema, c.relname::text AS name,
    greatest(c.reltuples, 0)::bigint AS rows,
    CASE WHEN has_table_privilege(c.oid, 'SELECT') THEN pg_total_relation_size(c.oid) ELSE 0 END AS bytes,
    a.attname::text AS column, coalesce(b.typname, d.typname, t.typname)::text AS type,
    t.typtype = 'c' AS is_row, coalesce(f.typname, e.typname)::text AS element,
    c.relkind = 'm' AS is_view,
    array_position(i.indkey::int2[], a.attnum) AS key_at,
    has_table_privilege(c.oid, 'SELECT') AS readable,
    (c.relrowsecurity AND row_security_active(c.oid)) AS hidden
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    AND a.attgenerated = '' -- what is made of other columns changes with them
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type d ON d.oid = nullif(t.typbasetype, 0) -- of a domain
LEFT JOIN pg_type b ON b.oid = nullif(d.typbasetype, 0) -- of a domain over a domain
LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
LEFT JOIN pg_type f ON f.oid = nullif(e.typbasetype, 0) -- of an array of a domain
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't' -- of a partitioned table its partitions
    AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY n.nspname, c.relname, a.attnum
"""

TEXT_TYPES: Final = frozenset(
    {"text", "varchar", "bpchar", "citext", "xml", "hstore", "inet", "cidr", "name", "tsvector"}
)
JSON_TYPES: Final = frozenset({"json", "jsonb"})
NUMBER_TYPES: Final = frozenset({"int8", "numeric"})
VECTOR_TYPES: Final = frozenset({"vector", "halfvec", "sparsevec"})

Query = LiteralString | sql.Composed
Params = Sequence[Any] | Mapping[str, Any]

BLOCKS: Final = 64
"""Of a table without a primary key, how many blocks of 8 kB are a page."""

BEGIN: LiteralString = (
    "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL row_security = off"
)
LOCKS: LiteralString = "SET LOCAL lock_timeout = '2s'"


class PostgresDatabase:
    """The `Database` over a connection to PostgreSQL."""

    def __init__(self, dsn: str, *, writes: bool = False) -> None:
        """Connect. What only reads does so in one snapshot, from the first statement on; what `writes` in short transactions.

        Raises:
            StorageError: The server can't be reached, or refuses.
        """
        with storage_errors():
            self._conn = psycopg.connect(
                dsn,
                prepare_threshold=None,
                application_name="discreet scan",
                client_encoding="utf8",
                row_factory=tuple_row,
            )
            self._conn.autocommit = writes
            if not writes:
                self._conn.isolation_level = IsolationLevel.REPEATABLE_READ
                self._conn.read_only = True
                self._conn.execute(BEGIN)
        info = self._conn.info
        self.name = f"postgresql://{info.host or 'local'}:{info.port}/{info.dbname}"
        self._writes = writes

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """For statistics."""
        return self._conn

    def catalog(self, *, every: bool, only: Collection[str] = ()) -> Catalog:
        """Return its tables, see `Database`.

        Raises:
            ScanError: This role may not read one of them, or sees a part of its rows only.
            StorageError: The database failed.
        """
        with storage_errors(), self._conn.cursor(row_factory=dict_row) as cursor:
            found = cursor.execute(_TABLES).fetchall()
        tables: list[Table] = []
        others: list[tuple[str, int]] = []
        for _, group in groupby(found, key=lambda row: row["oid"]):
            columns = list(group)
            if {each["column"] for each in columns} == VERSIONS:
                continue
            table = _table_of(columns, every=every or bool(only))
            first = columns[0]
            if table is None or (only and not {table.label, table.name, f"{table.schema}.{table.name}"} & set(only)):
                others.append((f"{first['schema']}.{first['name']}", first["rows"]))
                continue
            _check_rights(first)
            tables.append(table)
        return Catalog(tables, others)

    def page(
        self, table: Table, after: Key | None, *, sample: float = 1.0, thread: str | None = None
    ) -> tuple[list[Row], Key | None]:
        """Return a page of rows, see `Database`."""
        with storage_errors():
            if not table.key:
                return self._blocks(table, after)
            statement, params = _page_statement(table, after, sample, thread)
            rows = [_row(table, len(table.key), row) for row in self._read(statement, params)]
        return rows, rows[-1].key if len(rows) == PAGE_ROWS else None

    def _blocks(self, table: Table, after: Key | None) -> tuple[list[Row], Key | None]:
        """Return the rows of some blocks of a table that has no primary key."""
        name = sql.Identifier(table.schema, table.name)
        first = int(after[0]) if after else 0
        size = self._read("SELECT pg_relation_size(%s::regclass) / 8192", [name.as_string(self._conn)])[0][0]
        statement = sql.SQL("SELECT ctid::text, {} FROM {} WHERE ctid >= %s::tid AND ctid < %s::tid").format(
            sql.SQL(", ").join(_read(column) for column in table.columns) if table.columns else sql.SQL("NULL"), name
        )
        found = self._read(statement, [f"({first},0)", f"({first + BLOCKS},0)"])
        rows = [_row(table, 1, row) for row in found]
        return rows, (str(first + BLOCKS),) if first + BLOCKS < size else None

    def value(self, table: Table, key: Key, column: Column) -> str | bytes | None:
        """Return one value, see `Database`."""
        shown = sql.Identifier(column.name)
        whole = (
            sql.SQL("substr({}, 1, %s)").format(shown)
            if column.form == "bytes"
            else sql.SQL("left({}::text, %s)").format(shown)
        )
        statement = sql.SQL("SELECT {} FROM {} WHERE {}").format(
            whole, sql.Identifier(table.schema, table.name), _where(table)
        )
        with storage_errors():
            rows = self._read(statement, [MAX_VALUE_BYTES + 1, *key])
        return rows[0][0] if rows else None

    def threads(self, tables: Sequence[Table], after: str | None) -> list[str]:
        """Return the next thread ids, see `Database`."""
        each = sql.SQL(
            "(SELECT DISTINCT {0}::text FROM {1} WHERE %(after)s::text IS NULL OR {0}::text > %(after)s ORDER BY 1 LIMIT %(most)s)"
        )
        union = sql.SQL(" UNION ").join(
            each.format(sql.Identifier(table.profile.thread or ""), sql.Identifier(table.schema, table.name))
            for table in tables
        )
        statement = sql.SQL("SELECT * FROM ({}) found ORDER BY 1 LIMIT %(most)s").format(union)
        with storage_errors():
            return [row[0] for row in self._read(statement, {"after": after, "most": PAGE_ROWS})]

    def _read(self, statement: Query, params: Params) -> list[Any]:
        """Return rows, without the time limits of the role. What writes is in no transaction otherwise."""
        if not self._writes:
            return self._conn.execute(statement, params).fetchall()
        with self._conn.transaction():
            self._conn.execute(BEGIN)
            return self._conn.execute(statement, params).fetchall()

    def delete(self, table: Table, keys: Sequence[Key]) -> int:
        """Delete rows, see `Database`."""
        statement = sql.SQL("DELETE FROM {} WHERE {}").format(sql.Identifier(table.schema, table.name), _where(table))
        with storage_errors():
            return sum(self._conn.execute(statement, key).rowcount for key in keys)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Make the replacements within one transaction that waits two seconds for a lock at most."""
        with storage_errors(), self._conn.transaction():
            self._conn.execute(f"{BEGIN}; {LOCKS}")
            yield

    def replace(
        self, table: Table, key: Key, changes: Mapping[str, tuple[str | bytes | None, str | bytes | None]]
    ) -> bool:
        """Replace values of a row, see `Database`. What has changed since it was read stays."""
        columns = {column.name: column for column in table.columns}
        sets, same, new, old = [], [], [], []
        for name, (before, after) in changes.items():
            column = columns[name]
            sets.append(sql.SQL("{} = %s").format(sql.Identifier(name)))
            shown = (
                sql.SQL("{}").format(sql.Identifier(name))
                if column.form == "bytes"
                else sql.SQL("{}::text").format(sql.Identifier(name))
            )
            same.append(sql.SQL("{} IS NOT DISTINCT FROM %s").format(shown))
            new.append(after)
            old.append(before)
        statement = sql.SQL("UPDATE {} SET {} WHERE {} AND {}").format(
            sql.Identifier(table.schema, table.name),
            sql.SQL(", ").join(sets),
            _where(table),
            sql.SQL(" AND ").join(same),
        )
        with storage_errors():
            try:
                return self._conn.execute(statement, [*new, *key, *old]).rowcount == 1
            except psycopg.errors.ObjectNotInPrerequisiteState:
                raise ScanError(
                    f"{table.label} is published without a replica identity, so that no row of it can be changed: "
                    f"ALTER TABLE {table.label} REPLICA IDENTITY FULL, and go on with --resume."
                ) from None
            except (psycopg.DataError, psycopg.IntegrityError):  # not chained: they quote values of the row
                raise Refused from None

    def close(self) -> None:
        """Give back the connection. A snapshot is given up."""
        self._conn.close()


def _table_of(columns: Sequence[Mapping[str, Any]], *, every: bool) -> Table | None:
    first = columns[0]
    names = [each["column"] for each in columns]
    vectors = any(each["type"] in VECTOR_TYPES for each in columns)
    profile = profile_of(names, schema=first["schema"], has_vectors=vectors) or (OTHER if every else None)
    if profile is None:
        return None
    key = sorted((each for each in columns if each["key_at"] is not None), key=lambda each: each["key_at"])
    return Table(
        schema=first["schema"],
        name=first["name"],
        columns=tuple(column for each in columns if (column := _column(each, profile)) is not None),
        key=tuple(Column(each["column"], "text") for each in key),
        is_view=first["is_view"],
        profile=profile,
        bytes=int(first["bytes"]),
        rows=int(first["rows"]),
    )


def _column(found: Mapping[str, Any], profile: Profile) -> Column | None:
    """Return a column that can hold a text of somebody's; None of another."""
    if not profile.reads(found["column"]):
        return None
    kind = found["element"] or found["type"]
    form: Form
    if kind in JSON_TYPES:
        form = "json" if found["element"] is None else "text"
    elif kind == "bytea" and found["element"] is None:
        form = "bytes"
    elif kind in TEXT_TYPES or found["is_row"]:
        form = "text"
    elif kind in NUMBER_TYPES:
        form = "number"
    else:
        return None
    return Column(found["column"], form)


def _check_rights(table: Mapping[str, Any]) -> None:
    name = f"{table['schema']}.{table['name']}"
    if not table["readable"]:
        raise ScanError(f"This role may not read {name}. Scan as its owner, or GRANT SELECT ON {name} TO this role.")
    if table["hidden"]:
        raise ScanError(
            f"Row-level security would hide rows of {name} from this role. Scan as a role with BYPASSRLS, or a superuser."
        )


def _page_statement(
    table: Table, after: Key | None, sample: float, thread: str | None
) -> tuple[sql.Composed, list[Any]]:
    keys = [sql.Identifier(column.name) for column in table.key]
    conditions: list[sql.Composable] = []
    params: list[Any] = []
    if after is not None:
        given = sql.SQL(", ").join([sql.Placeholder()] * len(keys))
        conditions.append(sql.SQL("({}) > ({})").format(sql.SQL(", ").join(keys), given))
        params += after
    if thread is not None:
        conditions.append(sql.SQL("{} = %s").format(sql.Identifier(table.profile.thread or "")))
        params.append(thread)
    if sample < 1:
        by = sql.Identifier(table.profile.thread) if table.profile.thread else keys[0]
        conditions.append(sql.SQL("abs(hashtext({}::text)::bigint) %% 10000 < %s").format(by))
        params.append(round(sample * 10_000))
    where = sql.SQL("WHERE {}").format(sql.SQL(" AND ").join(conditions)) if conditions else sql.SQL("")
    shown = [*(sql.SQL("{}::text").format(key) for key in keys), *map(_read, table.columns)]
    # By its columns, named with the table: by a bare name it would be ordered by what is shown, which is text.
    statement = sql.SQL("SELECT {} FROM {} AS t {} ORDER BY {} LIMIT {}").format(
        sql.SQL(", ").join(shown),
        sql.Identifier(table.schema, table.name),
        where,
        sql.SQL(", ").join(sql.Identifier("t", column.name) for column in table.key),
        sql.Literal(PAGE_ROWS),
    )
    return statement, params


def _read(column: Column) -> sql.Composed:
    """Return what reads a column, or its size alone where it is large. Neither size needs the whole of it to be fetched."""
    name = sql.Identifier(column.name)
    size = sql.SQL("octet_length({})" if column.form == "bytes" else "pg_column_size({})").format(name)
    limit = sql.Literal(INLINE_BYTES if column.form == "bytes" else INLINE_BYTES // 4)  # the latter may be compressed
    shown = name if column.form == "bytes" else sql.SQL("{}::text").format(name)
    return sql.SQL("CASE WHEN {} <= {} THEN {} END, {}").format(size, limit, shown, size)


def _row(table: Table, keys: int, found: Sequence[Any]) -> Row:
    values: dict[str, str | bytes | None] = {}
    large: dict[str, int] = {}
    for n, column in enumerate(table.columns):
        value, size = found[keys + 2 * n : keys + 2 * n + 2]
        if value is None and size is not None:
            large[column.name] = size
        else:
            values[column.name] = value
    return Row(tuple(found[:keys]), values, large)


def _where(table: Table) -> sql.Composable:
    """Return what finds a row by its key."""
    if not table.key:
        return sql.SQL("ctid = %s::tid")
    return sql.SQL(" AND ").join(sql.SQL("{} = %s").format(sql.Identifier(column.name)) for column in table.key)

"""Rows of one table, read and changed past the product."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, LiteralString
from uuid import uuid4

import psycopg
from agmi.adapters.base import MemoryAdapter, Record
from psycopg.rows import dict_row
from psycopg.sql import SQL, Composed, Identifier

from discreet.storage.database.sealed_columns import SEALED_TABLES
from testkit.keys import USER_KEYS

ANN, BOB = "ann", "bob"
TAMPERED = "agmi_meta_tampered"
"""What the suite adds to a row's metadata; here it stands for other values in the columns of `Rows.meta`."""

_COLUMNS = """
SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum
"""
_TABLES = """
SELECT schemaname::text AS schema, tablename::text AS name FROM pg_tables WHERE schemaname IN ('discreet', 'public') ORDER BY 1, 2
"""

Connection = psycopg.Connection[dict[str, Any]]


class Rows(MemoryAdapter):
    """A record is a row with each of its columns as text: Ann's, or the other context's, which is Bob's."""

    supports_replay = supports_metadata = supports_snapshot = True

    table: ClassVar[str]
    owner: ClassVar[LiteralString]
    """The column that says whose a row is."""
    slot: ClassVar[Sequence[str]]
    """Columns that say which row it is, and where; the rest is what it holds, seals and all."""
    order: ClassVar[LiteralString]
    among: ClassVar[LiteralString] = "true"
    """Which of the owner's rows are records."""
    says: ClassVar[str]
    """The column with the text where there is no key."""
    sealed: ClassVar[str | None] = None
    """The one with it where there is one."""
    meta: ClassVar[Mapping[str, LiteralString]]
    """Columns beside the text that readers believe, with what changes each."""

    dsn = ""

    def read_all_raw(self) -> list[Record]:
        return self._of(ANN)

    def read_other_raw(self) -> list[Record]:
        return self._of(BOB)

    def write_raw(self, record: Record) -> None:
        there = self.read_all_raw()
        if record.seq < len(there):
            self.replay_onto(record.seq, record)
            return
        with self.connected() as connection:
            types = self._types(connection)
            names, row = map(Identifier, types), (_value(record.fields[name], types[name]) for name in types)
            statement = SQL("INSERT INTO {} ({}) VALUES ({})")
            connection.execute(statement.format(self._name, SQL(", ").join(names), SQL(", ").join(row)))

    def delete_raw(self, seq: int) -> None:
        with self.connected() as connection:
            where = self._where(self.read_all_raw()[seq], self._types(connection))
            connection.execute(SQL("DELETE FROM {} WHERE {}").format(self._name, where))

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        """Give a row all that another holds; which row it is, and whose, stays."""
        with self.connected() as connection:
            types = self._types(connection)
            changes = [
                SQL("{} = {}").format(Identifier(name), _value(donor.fields[name], kind))
                for name, kind in types.items()
                if name not in {self.owner, *self.slot}
            ]
            self._change(connection, victim_seq, SQL(", ").join(changes), types)

    def mutate_payload(self, record: Record) -> Record:
        """Write another text, in the plain column and without a seal: so can whoever has no key."""
        record.fields[self.says] = self.written(f"Another text {uuid4()}")
        if self.sealed is not None:
            record.fields[self.sealed] = None
        return record

    def forge_record(self, template: Record) -> Record:
        """Make a new row behind `template`, with nothing sealed: what is, opens in its own row only."""
        fields = {**template.fields, **self.behind(template.fields)}
        for pair in (
            pair for table in SEALED_TABLES if table.name == self.table.partition(".")[2] for pair in table.columns
        ):
            if fields[pair.name] is not None:
                plain = self.written("Another text") if pair.plain_type == "text" else pair.empty or "{}"
                fields |= {pair.name: None, pair.plain: plain}
        return self.mutate_payload(Record(seq=template.seq + 1, fields=fields))

    def read_meta(self, seq: int) -> dict[str, Any]:
        row = self.read_all_raw()[seq].fields
        return {name: row[name] for name in self.meta}

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        assert meta[TAMPERED]
        changes = SQL(", ").join(SQL("{} = {}").format(Identifier(name), SQL(to)) for name, to in self.meta.items())
        with self.connected() as connection:
            self._change(connection, seq, changes, self._types(connection))

    def identity_of(self, record: Record) -> str:
        return str([record.fields[name] for name in (self.owner, *self.slot)])

    def payload_of(self, record: Record) -> str:
        return str([record.fields[name] for name in (self.says, self.sealed) if name])

    def owner_of(self, record: Record) -> str:
        return str(record.fields[self.owner])

    def snapshot_store(self) -> dict[tuple[str, str], bytes]:
        """Copy all tables, also the trail, the seals and whatever else says how much there is."""
        with self.connected() as connection:
            tables = [(row["schema"], row["name"]) for row in connection.execute(_TABLES).fetchall()]
            return {table: _copied(connection, table) for table in tables}

    def restore_store(self, token: Any) -> None:
        with self.connected() as connection:
            connection.execute("SET session_replication_role = replica")  # neither triggers nor foreign keys
            connection.execute(SQL("TRUNCATE {}").format(SQL(", ").join(Identifier(*table) for table in token)))
            for table, content in token.items():
                statement = SQL("COPY {} FROM STDIN (FORMAT binary)").format(Identifier(*table))
                with connection.cursor().copy(statement) as copy:
                    copy.write(content)

    def written(self, text: str) -> str:
        """Return what the plain column holds for `text`."""
        return text

    @abstractmethod
    def behind(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return what says which row it is of a new one behind one with `fields`."""

    def key_of(self, user: str) -> str:
        """Return what the column `owner` has of a person."""
        return str(USER_KEYS.of_user(user))

    def _of(self, user: str) -> list[Record]:
        with self.connected() as connection:
            columns = [SQL("{0}::text AS {0}").format(Identifier(name)) for name in self._types(connection)]
            statement = SQL("SELECT {} FROM {} AS t WHERE {}::text = %s AND {} ORDER BY {}").format(
                SQL(", ").join(columns), self._name, Identifier(self.owner), SQL(self.among), SQL(self.order)
            )
            return [Record(seq, row) for seq, row in enumerate(connection.execute(statement, [self.key_of(user)]))]

    def _change(self, connection: Connection, seq: int, changes: Composed, types: Mapping[str, str]) -> None:
        where = self._where(self.read_all_raw()[seq], types)
        connection.execute(SQL("UPDATE {} SET {} WHERE {}").format(self._name, changes, where))

    def _where(self, row: Record, types: Mapping[str, str]) -> Composed:
        parts = [
            SQL("{} IS NOT DISTINCT FROM {}").format(Identifier(name), _value(row.fields[name], types[name]))
            for name in (self.owner, *self.slot)
        ]
        return SQL(" AND ").join(parts)

    def _types(self, connection: Connection) -> dict[str, str]:
        return {row["name"]: row["type"] for row in connection.execute(_COLUMNS, [self.table])}

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        with psycopg.connect(self.dsn, autocommit=True, row_factory=dict_row) as connection:
            yield connection

    @property
    def _name(self) -> Identifier:
        return Identifier(*self.table.split("."))


def _value(text: str | None, kind: str) -> Composed:
    return SQL("{}::{}").format(text, SQL(kind))


def _copied(connection: Connection, table: tuple[str, str]) -> bytes:
    with connection.cursor().copy(SQL("COPY {} TO STDOUT (FORMAT binary)").format(Identifier(*table))) as copy:
        return b"".join(bytes(part) for part in copy)

"""Look whether an erasure has left anything: in every column of every table, in statistics of them, in Redis, in files and logs."""

from __future__ import annotations

import asyncio
import mmap
import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, LiteralString

from psycopg.sql import SQL, Identifier

from discreet.access.user_keys import UserKeys
from discreet.checkpoint.postgres.schema import THREADS
from discreet.checkpoint.postgres.threads import NOBODY
from discreet.driver_errors import storage_errors
from discreet.errors import ReceiptError
from discreet.rights.erasure.bad_rows import LEAST_ID, is_of_bad_rows, lines_of, numbered
from discreet.rights.erasure.receipts import Receipt
from discreet.rights.erasure.spellings import in_columns, in_text
from discreet.state.ids import check_user_id
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.users.users import Cursor
from discreet.storage.redis import RedisClient
from discreet.storage.short_term.redis_keys import user_tag

STAYS: Final[Mapping[str, str]] = {
    "users": "the epoch that refuses late writes",
    "erasure": "what was erased, with its receipt",
    "audit_entry": "the audit trail",
    "audit_chain": "the audit trail",
    "audit_sealed_head": "the audit trail",
}
"""Tables of our schema where the pseudonym of a user who was erased stays, or ids of their threads, and as what."""

TOMBSTONES: Final = "tombstones that keep late writes out, for a day"

_TOMBSTONE: LiteralString = f"(user_key::text = '{NOBODY}' AND deleted_at IS NOT NULL)"
"""Of `checkpoint_threads`, which is in any schema that a checkpointer names: other rows of it are threads that are there."""

_READ: Final[Mapping[bytes, Sequence[str | int]]] = {
    b"string": ("GET",),
    b"hash": ("HGETALL",),
    b"set": ("SMEMBERS",),
    b"list": ("LRANGE", 0, -1),
}
"""How each type of Redis is read whole."""

_COMPRESSED: Final = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"PK\x03\x04")
"""How files of gzip, bzip2, xz, zstd, lz4 and zip begin."""

_NOT_SYSTEM: LiteralString = "!~ '^(pg_.*|information_schema|(citus|columnar)(_internal)?)$'"

_COLUMNS: LiteralString = f"""
SELECT n.nspname::text AS schema, c.relname::text AS name, c.relkind = 'f' AS is_foreign,
    array_agg(a.attname::text ORDER BY a.attnum) AS columns, bool_or(a.attname = 'thread_id') AS has_threads,
    has_schema_privilege(n.oid, 'USAGE') AND bool_and(has_column_privilege(c.oid, a.attnum, 'SELECT')) AS is_readable,
    row_security_active(c.oid) AND NOT coalesce((
        SELECT bool_or(pg_get_expr(polqual, polrelid) = 'true') AND bool_and(polpermissive) FROM pg_policy
        WHERE polrelid = c.oid AND polcmd IN ('r', '*') AND EXISTS (
            SELECT FROM unnest(polroles) AS role WHERE role = 0 OR pg_has_role(role, 'USAGE')
        )
    ), false) AS may_hide
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'm', 'f') AND c.relispopulated AND n.nspname {_NOT_SYSTEM} AND NOT c.relispartition
GROUP BY n.oid, c.oid ORDER BY 1, 2
"""

_SEARCH: LiteralString = """
SELECT count(*) FILTER (WHERE said ~ %(keys)s) AS keys, count(*) FILTER (WHERE said ~ %(canaries)s) AS canaries
FROM (SELECT array_to_string(ARRAY[{columns}], ' ') COLLATE "C" AS said FROM {table} WHERE {rows}) t
"""

_THREADS: LiteralString = "SELECT DISTINCT thread_id::text AS thread_id FROM {table} WHERE {rows}"

_INDEXES: LiteralString = """
SELECT count(*) FILTER (WHERE relname::text ~ %(keys)s) AS keys, count(*) FILTER (WHERE relname::text ~ %(canaries)s) AS canaries
FROM pg_class WHERE relkind IN ('i', 'I')
"""

_STATISTICS: LiteralString = f"""
SELECT 'statistics of ' || schemaname || '.' || tablename AS place,
    count(*) FILTER (WHERE said ~ %(keys)s) AS keys, count(*) FILTER (WHERE said ~ %(canaries)s) AS canaries
FROM (
    SELECT schemaname, tablename, concat_ws(' ', most_common_vals, histogram_bounds, most_common_elems) AS said FROM pg_stats
    UNION ALL
    SELECT schemaname, tablename, most_common_vals::text FROM pg_stats_ext
    UNION ALL
    SELECT schemaname, tablename, concat_ws(' ', most_common_vals, histogram_bounds, most_common_elems) FROM pg_stats_ext_exprs
) kept
WHERE schemaname {_NOT_SYSTEM} AND said <> ''
GROUP BY schemaname, tablename
"""
"""What ANALYZE has copied of columns, of expressions that indexes hold, and of what somebody had CREATE STATISTICS name."""

_THREADS_KEPT: LiteralString = f"""
SELECT DISTINCT unnest(most_common_vals::text::text[] || histogram_bounds::text::text[]) AS thread_id
FROM pg_stats WHERE attname = 'thread_id' AND schemaname {_NOT_SYSTEM}
"""

_UNSEEN: LiteralString = f"""
SELECT 'statistics of ' || c.oid::regclass || ' (' || string_agg(a.attname, ', ' ORDER BY a.attnum) || ')' AS place
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_index i ON i.indexrelid = c.oid
WHERE (c.relkind IN ('r', 'p', 'm', 'f') OR i.indkey[a.attnum - 1] = 0) AND n.nspname {_NOT_SYSTEM}
  AND (row_security_active(c.oid) OR NOT has_column_privilege(c.oid, a.attnum, 'SELECT'))
  AND (a.attlen = -1 OR a.atttypid = 'uuid'::regtype) AND coalesce(a.attstattarget, -1) <> 0
GROUP BY c.oid
UNION ALL
SELECT 'statistics ' || stxname || ' of ' || stxrelid::regclass
FROM pg_statistic_ext JOIN pg_class c ON c.oid = stxrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname {_NOT_SYSTEM} AND (row_security_active(stxrelid) OR NOT pg_has_role(c.relowner, 'USAGE'))
ORDER BY 1
"""
"""PostgreSQL shows nobody those of tables whose policies apply to them or that they may not read, those of indexes to owners alone.
Columns that nothing is copied of are not among these."""


@dataclass(frozen=True)
class Finding:
    """Something that is still there."""

    place: str
    what: str
    """`key` of the user, `thread` of theirs, or `canary`."""
    times: int
    stays_as: str = ""
    """Why it is meant to be there; empty: it is not."""


@dataclass
class Report:
    """What was looked through, and what was found."""

    looked: Counter[str] = field(default_factory=Counter)
    """How many tables, keys of Redis, files."""
    findings: list[Finding] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    """What was passed over: places that this role may not look into, or that are of another kind."""

    @property
    def left(self) -> list[Finding]:
        """What should not be there."""
        return [finding for finding in self.findings if not finding.stays_as]


async def verify(
    receipt: Receipt,
    *,
    works: Pool,
    keys: UserKeys,
    user_id: str | None = None,
    also_named: Sequence[str] = (),
    canaries: Sequence[str] = (),
    files: Sequence[Path] = (),
    redis_url: str | None = None,
) -> Report:
    """Look for the keys of whom a receipt is about, for ids of their threads, and for `canaries`: words that they said.

    `user_id` finds their keys in Redis, which have it in the clear, and their rows in files of what imports refused, as
    `also_named` does: how else a source may name them. `files`: logs, and folders with all below them.

    Raises:
        ReceiptError: The receipt was changed, or is of another user, or a file can't be read.
        StorageError: The database or Redis failed.
    """
    receipt.check(keys)
    user_id = None if user_id is None else check_user_id(user_id)
    if user_id is not None and keys.of_user(user_id) != receipt.user_key:
        raise ReceiptError("The receipt is of another user. A caller of a server is named with --subject.")
    is_whole = receipt.scope == "all"
    long_id = [user_id] if user_id and len(user_id) >= LEAST_ID else []  # a short one is in many words
    names = [str(receipt.user_key), receipt.user_key.hex, *long_id] if is_whole else []
    report = Report()
    looks = _Looks(schema=works.target.schema, receipt=receipt, keys=keys, names=names, canaries=canaries)
    with storage_errors():
        async with works.connection() as conn, conn.cursor(binary=True) as cursor:
            await looks.in_tables(report, cursor)
            await looks.in_statistics(report, cursor)
    if redis_url is not None:
        await _look_in_redis(report, redis_url, names + ([user_tag(user_id)] if user_id else []), canaries)
    raw_names = [name for name in (user_id, *also_named) if name] if is_whole else []
    for path in files:
        for file in _files(report, path):
            report.looked["files"] += 1
            await asyncio.to_thread(_look_in_file, report, file, names, raw_names, canaries)
    return report


@dataclass(frozen=True, kw_only=True)
class _Looks:
    """What is looked for."""

    schema: str
    """Where our tables are."""
    receipt: Receipt
    keys: UserKeys
    names: Sequence[str]
    """By which the user is known; none where not all of theirs went."""
    canaries: Sequence[str]

    async def in_tables(self, report: Report, cursor: Cursor) -> None:
        """Look in every column of every table, and at the names of indexes."""
        for table in await (await cursor.execute(_COLUMNS)).fetchall():
            place = f"{table['schema']}.{table['name']}"
            if table["is_foreign"]:
                report.unseen.append(f"{place}, a foreign table")
                continue
            if not table["is_readable"]:
                report.unseen.append(f"{place}, which this role may not read")
                continue
            if table["may_hide"]:
                report.unseen.append(f"rows of {place} that its policies may hide from this role")
            report.looked["tables"] += 1
            await self._in_table(report, cursor, table, place)
        [named] = await (await cursor.execute(_INDEXES, self._given)).fetchall()
        _note(report, "indexes", "key", named["keys"])
        _note(report, "indexes", "canary", named["canaries"])

    async def in_statistics(self, report: Report, cursor: Cursor) -> None:
        """Look at the values that ANALYZE has copied into the catalog, as far as this role may."""
        for row in await (await cursor.execute(_STATISTICS, self._given)).fetchall():
            report.looked["statistics of tables"] += 1
            _note(report, row["place"], "key", row["keys"])
            _note(report, row["place"], "canary", row["canaries"])
        threads = await (await cursor.execute(_THREADS_KEPT)).fetchall()
        _note(report, "statistics", "thread", self._gone(threads))
        report.unseen += [row["place"] for row in await (await cursor.execute(_UNSEEN)).fetchall()]

    @property
    def _given(self) -> Mapping[str, str | None]:
        return {"keys": in_columns(self.names), "canaries": in_columns(self.canaries)}

    def _gone(self, rows: Sequence[Mapping[str, Any]]) -> int:
        """Return how many of the threads of `rows` are among those that went."""
        found = {self.keys.of_thread(each["thread_id"]) for each in rows if self.names and each["thread_id"]}
        return len(found.intersection(self.receipt.threads))

    async def _in_table(self, report: Report, cursor: Cursor, table: Mapping[str, Any], place: str) -> None:
        identifier = _named(table["schema"], table["name"])
        columns = SQL(", ").join(SQL("{}::text").format(_named(name)) for name in table["columns"])
        for rows, stays in self._parts(table):
            search = SQL(_SEARCH).format(columns=columns, table=identifier, rows=SQL(rows))
            [row] = await (await cursor.execute(search, self._given)).fetchall()
            _note(report, place, "key", row["keys"], stays)
            _note(report, place, "canary", row["canaries"])
            if self.names and table["has_threads"]:
                threads = SQL(_THREADS).format(table=identifier, rows=SQL(rows))
                found = await (await cursor.execute(threads, self._given)).fetchall()
                _note(report, place, "thread", self._gone(found), stays)

    def _parts(self, table: Mapping[str, Any]) -> Iterator[tuple[LiteralString, str]]:
        """Yield which rows of a table, and what the pseudonym of a user stays in them as; empty: it does not."""
        if table["name"] == THREADS and {"user_key", "deleted_at"} <= {*table["columns"]}:
            yield _TOMBSTONE, TOMBSTONES
            yield f"{_TOMBSTONE} IS NOT TRUE", ""
        else:
            yield "true", STAYS.get(table["name"], "") if table["schema"] == self.schema else ""


async def _look_in_redis(report: Report, url: str, names: Sequence[str], canaries: Sequence[str]) -> None:
    client = RedisClient(url)
    try:
        async for key, value in _values(client):
            report.looked["keys of Redis"] += 1
            said = key.encode() + b" " + value
            for what, words in (("key", names), ("canary", canaries)):
                _note(report, "redis", what, _within(said, words))
    finally:
        await client.close()


async def _values(client: RedisClient) -> AsyncIterator[tuple[str, bytes]]:
    """Yield each key with what it holds."""
    async for found in client.scan("*"):
        for key in found:
            reading = _READ.get(await client.command("TYPE", key))
            held = b"" if reading is None else await client.command(reading[0], key, *reading[1:])
            parts = held.items() if isinstance(held, dict) else [held] if isinstance(held, bytes) else held or ()
            yield key, b" ".join(b" ".join(each) if isinstance(each, tuple) else each for each in parts)


def _look_in_file(
    report: Report, file: Path, names: Sequence[str], raw_names: Sequence[str], canaries: Sequence[str]
) -> None:
    """Look into a file, and where it has rows that an import refused say in which lines something is: these are to be deleted by hand.

    `raw_names`: how a source may name the user.

    Raises:
        ReceiptError: The file can't be read.
    """
    try:
        with file.open("rb") as stream:
            if stream.read(6).startswith(_COMPRESSED):
                report.unseen.append(f"file {file}, which is compressed")
        if not is_of_bad_rows(file):
            for what, words in (("key", names), ("canary", canaries)):
                _note(report, f"file {file}", what, _times(file, words))
            return
        in_rows = {"key": lines_of(file, names=[*names, *raw_names]), "canary": lines_of(file, words=canaries)}
    except OSError as error:
        raise ReceiptError(f"{file} can't be looked through ({type(error).__name__}).") from None
    for what, lines in in_rows.items():
        _note(report, f"file {file}, {numbered(lines)}", what, len(lines))


def _named(*names: str) -> Identifier:
    """Return a name for a statement that has parameters."""
    return Identifier(*(name.replace("%", "%%") for name in names))


def _note(report: Report, place: str, what: str, times: int, stays_as: str = "") -> None:
    if times:
        report.findings.append(Finding(place, what, times, stays_as if what != "canary" else ""))


def _files(report: Report, path: Path) -> Iterator[Path]:
    """Yield a file, or those below a folder; not the database's own, which have freed space that nothing overwrites yet.

    Raises:
        ReceiptError: There is neither at `path`.
    """
    if path.is_file():
        yield path
    elif not path.is_dir():
        raise ReceiptError(f"{path} can't be looked through: it is no file and no folder.")

    def failed(error: OSError) -> None:
        report.unseen.append(f"folder {error.filename} ({type(error).__name__})")

    for folder, inner, names in os.walk(path, onerror=failed):
        if "PG_VERSION" in names:
            report.unseen.append(f"folder {folder}, a database's own files")
            inner.clear()
            continue
        for link in (f"{folder}/{name}" for name in inner):
            if os.path.islink(link):  # noqa: PTH114  # of a path that is too long Path raises; `failed` gets to know it
                report.unseen.append(f"folder {link}, a link")
        yield from (file for name in sorted(names) if (file := Path(folder, name)).is_file())


def _times(file: Path, words: Sequence[str]) -> int:
    """Return how many of `words` are in a file."""
    if not words or not file.stat().st_size:
        return 0
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as held:
        return _within(held, words)


def _within(said: bytes | mmap.mmap, words: Sequence[str]) -> int:
    """Return how many of `words` are in `said`."""
    return sum(re.search(in_text(word).encode(), said) is not None for word in words)

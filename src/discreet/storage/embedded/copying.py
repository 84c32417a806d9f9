"""Copying all that one server holds to another, empty one, by PostgreSQL's own programs, and comparing both."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from discreet.errors import EmbeddedServerError
from discreet.storage.embedded.cluster import ENVIRONMENT
from discreet.storage.embedded.endpoint import USER

Tell = Callable[[str], None]

_DATABASES = "SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate ORDER BY datname"
_TABLES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
ORDER BY n.nspname, c.relname
"""

_STEP = re.compile(r"pg_restore: (processing data for table|creating INDEX) (\S+)$")
"""Of what pg_restore says only this is shown: its errors quote rows."""


def copy_server(programs: Path, old: str, new: str, tell: Tell) -> None:
    """Copy roles and databases from `old` to `new`, two DSNs, by the `programs` of the later version.

    Raises:
        EmbeddedServerError: A program failed.
    """
    _copy_roles(programs, old, new)
    there = _databases(new)
    for name in _databases(old):
        if name not in there:
            with psycopg.connect(new, autocommit=True) as connection:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        _copy_database(programs, make_conninfo(old, dbname=name), make_conninfo(new, dbname=name), tell)
        tell(f"database {name}: collecting statistics")
        with psycopg.connect(new, dbname=name, autocommit=True) as connection:
            connection.execute("VACUUM (ANALYZE)")


def verify_copy(old: str, new: str, tell: Tell) -> None:
    """Check that each table has as many rows in `new` as in `old`.

    Raises:
        EmbeddedServerError: One has not.
    """
    for name in _databases(old):
        here, there = _counts(old, name), _counts(new, name)
        for table, rows in here.items():
            if there.get(table) != rows:
                raise EmbeddedServerError(
                    f"The copy of {'.'.join(table)} in database {name} has {there.get(table, 'no')} rows instead of "
                    f"{rows}. The old data is still in use. Run `discreet upgrade` again."
                )
            tell(f"database {name}: {'.'.join(table)} has its {rows:,} rows")


def _databases(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as connection:
        return [name for (name,) in connection.execute(_DATABASES)]


def _counts(dsn: str, name: str) -> dict[tuple[str, str], int]:
    with psycopg.connect(dsn, dbname=name) as connection:
        tables: list[tuple[str, str]] = connection.execute(_TABLES).fetchall()
        count = sql.SQL("SELECT count(*) FROM {}")
        found = {table: connection.execute(count.format(sql.Identifier(*table))).fetchone() for table in tables}
    return {table: row[0] for table, row in found.items() if row}


def _copy_roles(programs: Path, old: str, new: str) -> None:
    """Copy roles, what they belong to and their settings; our own is there already, under a new password."""
    command, environment = _client(programs / "bin" / "pg_dumpall", old)
    result = subprocess.run(
        [*command, "--roles-only"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    if result.returncode:
        raise _failed("pg_dumpall", result.returncode, "the roles")
    ours = (f"CREATE ROLE {USER};", f"ALTER ROLE {USER} WITH")
    with psycopg.connect(new, autocommit=True) as connection:
        for line in result.stdout.splitlines():
            if line.startswith(("CREATE ROLE", "ALTER ROLE", "GRANT")) and not line.startswith(ours):
                connection.execute(line.encode())


def _copy_database(programs: Path, old: str, new: str, tell: Tell) -> None:
    """Send the dump of one database straight into the other: nothing of it is written anywhere else."""
    reading, of_old = _client(programs / "bin" / "pg_dump", old)
    writing, of_new = _client(programs / "bin" / "pg_restore", new)
    step = "its beginning"
    with (
        subprocess.Popen(
            [*reading, "--format=custom", "--compress=0"], env=of_old, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as dump,
        subprocess.Popen(
            [*writing, "--exit-on-error", "--verbose"],
            env=of_new,
            stdin=dump.stdout,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        ) as restore,
    ):
        if dump.stdout and restore.stderr:
            dump.stdout.close()  # or pg_dump would not notice the end of pg_restore
            for line in restore.stderr:
                if match := _STEP.match(line):
                    step = f"{match[1]} {match[2]}"
                    tell(f"database {conninfo_to_dict(old)['dbname']}: {step}")
    for name, ended in (("pg_dump", dump), ("pg_restore", restore)):
        if ended.returncode:
            raise _failed(name, ended.returncode, step)


def _client(program: Path, dsn: str) -> tuple[list[str], dict[str, str]]:
    """Return command and environment of a program; the password is in the latter, where no other user sees it."""
    given = conninfo_to_dict(dsn)
    password = str(given.pop("password"))
    return [str(program), f"--dbname={make_conninfo('', **given)}"], {**ENVIRONMENT, "PGPASSWORD": password}


def _failed(program: str, status: int, step: str) -> EmbeddedServerError:
    return EmbeddedServerError(
        f"{program} failed (status {status}) at {step}. The old data is still in use. Is there room for a second copy? Run "
        "`discreet upgrade` again, or set DISCREET_POSTGRES_VERSION to stay."
    )

"""A storage to import into, and what it holds, row by row."""

from __future__ import annotations

from dataclasses import replace

import pytest
from psycopg import sql

from discreet.encryption import Keyring, make_key
from discreet.importing.bad_rows import BadRowsFile
from discreet.importing.checking import Checker
from discreet.importing.importer import Importer
from discreet.importing.progress import ProgressFile
from discreet.redaction.configured import default_redactor
from discreet.storage import open_storage
from discreet.storage.audit.log import PostgresAuditLog
from discreet.testing import StubEmbeddings

_TABLES = (
    "SELECT relname FROM pg_class WHERE relnamespace = 'discreet'::regnamespace AND relkind IN ('r', 'p') ORDER BY 1"
)


@pytest.fixture
async def storage(database):
    async with open_storage(
        database, embeddings=StubEmbeddings(dims=64), keys=Keyring([make_key()]), maintained=False
    ) as opened:
        yield replace(opened, audit=PostgresAuditLog(opened.pool, keys=opened.background.keys))


@pytest.fixture
def dump(storage):
    """Return what reads all rows of all tables, as text."""

    async def read():
        async with storage.works_pool.connection() as conn:
            names = [row["relname"] for row in await (await conn.execute(_TABLES)).fetchall()]
            return {
                name: sorted(
                    row["t"]
                    for row in await (
                        await conn.execute(
                            sql.SQL("SELECT t::text AS t FROM {} t").format(sql.Identifier("discreet", name))
                        )
                    ).fetchall()
                )
                for name in names
            }

    return read


@pytest.fixture
def importing(storage, tmp_path):
    """Return what imports a source."""

    def run(source, *, user=None, resume=False, into=None, **options):
        app_name = options.pop("app_name", None)
        checker = Checker(source=source.name, redactor=default_redactor(), user_id=user, app_name=app_name)
        importer = Importer(
            storage=into or storage,
            checker=checker,
            bad_rows=options.pop("bad_rows", BadRowsFile(tmp_path / "bad.jsonl")),
            progress=options.pop("progress", ProgressFile(tmp_path / "progress.json")),
            **options,
        )
        return importer.run(source, resume=resume)

    return run


class ListSource:
    """Rows that a test gives; `then` is called before each with its number."""

    name = "list"

    def __init__(self, rows, *, then=None):
        self._rows = rows
        self._then = then

    async def count(self):
        return len(self._rows)

    async def rows(self, *, after=None):
        for number, row in enumerate(self._rows):
            if self._then is not None:
                await self._then(number)
            if after is None or row.mark > after:
                yield row


@pytest.fixture
def list_source():
    return ListSource

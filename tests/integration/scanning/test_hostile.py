"""Rows that were made to hurt whoever reads them cost one line of error each at most, and hide nothing of the others."""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from pathlib import Path

import psycopg
import pytest
from kit import places
from testkit.planting.hostile import hostile_blobs, plant_hostile
from testkit.planting.planting import plant_database
from testkit.scanning import RecordingRedactor, failures, left_in, missed, scan, scrub, threads_of

from discreet.errors import ScanError
from discreet.redaction import Redactor
from discreet.scanning.inspecting import Inspector
from discreet.scanning.messages import RUNNABLE_PICKLES
from discreet.scanning.scrubbing.rewriting import Place, Rewriter
from discreet.scanning.texts import Texts

pytestmark = pytest.mark.slow

THREADS = 13
NAMES = tuple(hostile_blobs(Path("ran")))
MOST_MEMORY = 1_500 * 1024
"""Kilobytes that a test may add: the rows claim terabytes."""


@pytest.fixture(scope="module")
def hostile(make_database, tmp_path_factory):
    """Return a database with hostile rows, what else is in it, the hostile rows, and the file that their code makes."""
    marker = tmp_path_factory.mktemp("hostile") / "ran"
    with make_database(template="template1") as dsn:
        entries = asyncio.run(plant_database(dsn, threads=THREADS, seed=20))
        with psycopg.connect(dsn) as connection:
            rows = plant_hostile(connection, marker)
        yield dsn, entries, rows, marker


def test_a_scan_finds_the_rest_and_runs_nothing(hostile):
    dsn, entries, rows, marker = hostile
    redactor = RecordingRedactor()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = scan(dsn, redactor=redactor, every=True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MEMORY
    assert not marker.exists()
    assert missed(entries, redactor.spans) == []
    assert report.kinds[RUNNABLE_PICKLES] == 2 * len(
        [row for row in rows if row.name.startswith("pickle that runs code") and row.table == "checkpoint_blobs"]
    )
    assert report.fails([RUNNABLE_PICKLES])
    told = Counter((error.table, error.row) for error in report.errors)
    assert set(told.values()) == {1}
    assert 0 < len(told) == report.unreadable <= len(rows)
    assert not any(row.row in report.model_dump_json() for row in rows)


def test_a_scrub_cleans_the_rest_and_runs_nothing(hostile):
    dsn, entries, rows, marker = hostile
    report = scrub(dsn, every=True)
    assert not marker.exists()
    assert left_in(entries, places.rows(dsn)) == {}
    assert 0 < sum(table.unreadable for table in report.tables) <= len(rows)
    assert scrub(dsn, every=True).changed == 0
    assert asyncio.run(failures(dsn, threads_of(entries))) == {}


@pytest.mark.parametrize("name", NAMES)
def test_every_hostile_value_has_one_line_at_most(name, tmp_path):
    marker = tmp_path / "ran"
    kind, data = hostile_blobs(marker)[name]
    seen = Inspector(Texts(Redactor())).look(data, name="hostile", kind=kind)
    assert len(seen.errors) <= 1
    if data is not None:
        told = []
        try:
            Rewriter(Texts(Redactor())).rewrite(kind, data, Place(channel="hostile"))
        except ScanError as error:
            told.append(str(error))
        assert set(told) <= set(seen.errors)
    assert not marker.exists()

"""A database of ten thousand threads, and one of large values, take no more memory than a small one."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from kit.places import rows
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from testkit.planting.manifest import Harmless, Planted, Thread, read_manifest
from testkit.scanning import RecordingRedactor, failures, leaks, left_in, missed, scan, threads_of, values_of

pytestmark = pytest.mark.slow

SUPPORT = Path(__file__).resolve().parents[2] / "support"
THREADS, SEED = 10_000, 20
GOING_ON = 300
SEARCHED = 50
"""Of so many values one is searched for, byte by byte."""
MOST_UNKNOWN = 10
"""Of some 160,000 values."""
MEGABYTE = 1024 * 1024
KINDS = {"value": Planted, "harmless": Harmless, "thread": Thread}

MEASURED = """
import sys
from discreet.cli import app
try:
    app(sys.argv[1:], prog_name="discreet")
finally:
    with open("/proc/self/status") as status:
        print(next(line.split()[1] for line in status if line.startswith("VmHWM")), file=sys.stderr)
"""
"""What `getrusage` says of a child begins with the size of its parent."""


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Return what runs a command in an interpreter of its own, and returns its report and its peak of memory in bytes."""
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))

    def run(*arguments):
        command = [sys.executable, "-c", MEASURED, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), 1024 * int(done.stderr.splitlines()[-1])

    return run


def test_ten_thousand_threads(empty_database, measured, tmp_path, record_property):
    manifest = tmp_path / "manifest.jsonl"
    planting = [sys.executable, "-m", "testkit.planting", empty_database, "--threads", str(THREADS)]
    planting += ["--seed", str(SEED), "--manifest", str(manifest), "--processes", "2"]
    subprocess.run(
        planting,
        env={"PYTHONPATH": f"{SUPPORT}{os.pathsep}{SUPPORT.parent}", "PATH": "/usr/bin:/bin"},
        check=True,
        cwd=tmp_path,
    )
    entries = [KINDS[line["kind"]](**line) for line in read_manifest(manifest)]
    report, peak = measured("scan", empty_database, "--json")
    assert peak < 600 * MEGABYTE
    assert report["usage"]["threads"] == THREADS
    figure = f"A scan read {report['seconds']:.0f} s: {sum(table['rows'] for table in report['tables']):,} rows,"
    read = sum(table["read_bytes"] for table in report["tables"])
    figure += (
        f" {read / MEGABYTE:.0f} MB, {read / MEGABYTE / report['seconds']:.1f} MB/s; {peak / MEGABYTE:.0f} MB of memory"
    )
    record_property("figure", figure)
    redactor = RecordingRedactor()
    assert scan(empty_database, redactor=redactor).types
    found = "\0".join({span.value for span in redactor.spans})
    # Of very few a redactor sees nothing where they stand, whoever asks it.
    unknown = {entry.value for entry in missed(entries, redactor.spans) if entry.value not in found}
    assert len(unknown) <= MOST_UNKNOWN
    entries = [entry for entry in entries if not (isinstance(entry, Planted) and entry.value in unknown)]
    assert leaks(json.dumps(report), entries) == []
    scrubbed, peak = measured("scrub", empty_database, "--yes", "--json")
    assert peak < 600 * MEGABYTE
    assert scrubbed["threads"] == THREADS
    # The command has scanned all again, and ended with 0. Bytes are searched for a part: all would take an hour.
    assert left_in(values_of(entries)[::SEARCHED], rows(empty_database)) == {}
    sample = random.Random(SEED).sample(threads_of(entries), GOING_ON)
    assert asyncio.run(failures(empty_database, sample[::2])) == {}
    assert asyncio.run(failures(empty_database, sample[1::2], ours=True)) == {}


def test_large_values_take_bounded_memory(empty_database, measured):
    with PostgresSaver.from_conn_string(empty_database) as saver:
        saver.setup()
    text = "The page goes on about opening hours and parking. " * 20
    serializer = JsonPlusSerializer()
    with psycopg.connect(empty_database) as connection:
        for size in [1, *([20] * 10)]:  # megabytes
            value = [f"{text} {number % 50} ann@example.com" for number in range(size * 1000)]
            kind, blob = serializer.dumps_typed(value)
            connection.execute(
                "INSERT INTO checkpoint_blobs (thread_id, channel, version, type, blob) VALUES (%s, 'pages', '1', %s, %s)",
                [f"thread-{connection.execute('SELECT count(*) FROM checkpoint_blobs').fetchone()[0]}", kind, blob],
            )
    _, small = measured("scan", empty_database, "--json", "--table", "checkpoint_writes")
    report, peak = measured("scan", empty_database, "--json")
    assert sum(table["read_bytes"] for table in report["tables"]) > 200_000_000
    assert peak - small < 400 * MEGABYTE

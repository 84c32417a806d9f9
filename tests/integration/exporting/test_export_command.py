"""`discreet export` over a database."""

from __future__ import annotations

import asyncio
import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from testkit.keys import USER_KEYS
from testkit.lives import live
from typer.testing import CliRunner

from discreet.access.identity import Identities
from discreet.cli import app
from discreet.encryption import Keyring, make_key
from discreet.errors import ExportError
from discreet.rights.exporting import read_export, read_manifest
from discreet.rights.exporting.format import ItemRow, MemoryRow
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

pytestmark = pytest.mark.slow

FULL = Path("/dev/full")


@pytest.fixture
def command(database, tmp_path, monkeypatch):
    """Return what runs `discreet export` over a database in which ann and a caller of that name live; it returns the exit code and output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DISCREET_EMBEDDING_MODEL", "none")
    monkeypatch.setenv("COLUMNS", "120")

    async def lives():
        async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
            await live(storage, "ann", "zanzibarine", namespace=("notes", "ann"))
            caller = Identities(bytes(32)).of("ann")
            await live(storage, caller, "quokka", namespace=("users", caller))

    asyncio.run(lives())

    def run(*arguments):
        result = CliRunner().invoke(app, ["export", *arguments, "--dsn", database])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout

    return run


def texts(path):
    return {record.text for record in read_export(path) if isinstance(record, MemoryRow)}


def test_it_writes_a_folder_for_its_owner_alone_and_shows_what_there_is(command, tmp_path):
    code, told = command("--user", "ann", "--out", "ann", "--namespace", "notes.ann")
    assert code == 0
    rows = {line.split()[0]: line.split()[1] for line in told.splitlines() if ".jsonl" in line}
    assert rows["memories.jsonl"] == "3"
    assert rows["items.jsonl"] == "2"
    assert "zanzibarine" not in told
    folder = tmp_path / "ann"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert not (folder / "progress.json").exists()
    assert "zanzibarine lives in Oslo" in texts(folder)
    assert all("quokka" not in text for text in texts(folder))
    with pytest.raises(ExportError, match="finished export"):
        command("--user", "ann", "--out", "ann")


def test_the_subject_of_a_token_is_found_by_their_identity(command, tmp_path):
    code, told = command("--user", "ann", "--subject", "--out", "ann", "--json")
    assert code == 0
    manifest = json.loads(told)
    assert manifest["user"] == str(USER_KEYS.of_user(Identities(bytes(32)).of("ann")))
    assert manifest == json.loads((tmp_path / "ann" / "manifest.json").read_text())
    assert any("quokka" in text for text in texts(tmp_path / "ann"))
    assert len([record for record in read_export(tmp_path / "ann") if isinstance(record, ItemRow)]) == 2


def test_a_stream_goes_to_standard_output(command, tmp_path):
    code, told = command("--user", "ann", "--out", "-")
    assert code == 0
    (tmp_path / "ann.ndjson").write_text(told)
    assert "zanzibarine lives in Oslo" in texts(tmp_path / "ann.ndjson")
    assert read_manifest(tmp_path / "ann.ndjson").user == USER_KEYS.of_user("ann")
    code, _ = command("--user", "ann", "--out", "-", "--json")
    assert code == 2


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
def test_standard_output_that_is_full_is_told_in_a_line(command, database):
    discreet = str(Path(sys.executable).with_name("discreet"))
    with FULL.open("wb") as full:
        done = subprocess.run(
            [discreet, "export", "--user", "ann", "--out", "-", "--dsn", database],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1] == "discreet: Standard output can't be written: No space left on device."
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_reader_that_goes_away_is_no_error(command, database):
    discreet = str(Path(sys.executable).with_name("discreet"))
    exporting = [discreet, "export", "--user", "ann", "--out", "-", "--dsn", database]
    with subprocess.Popen(exporting, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        running.stdout.close()
        told = running.stderr.read()
    assert "Traceback" not in told
    assert "can't be written" not in told


def test_without_a_name_the_folder_bears_the_pseudonym(command, tmp_path):
    command("--user", "ann")
    assert texts(tmp_path / f"discreet-export-{USER_KEYS.of_user('ann')}")


def test_of_a_stranger_it_says_that_there_is_nothing(command):
    code, told = command("--user", "carl", "--out", "carl")
    assert code == 0
    assert "Nothing is kept of this user" in told


def test_what_is_not_readable_is_told_and_the_exit_code_says_so(command, database, tmp_path):
    async def more():
        async with open_storage(database, embeddings=StubEmbeddings(dims=64), keys=Keyring([make_key()])) as storage:
            await live(storage, "bob", "wombat", namespace=("notes", "bob"))

    asyncio.run(more())
    code, told = command("--user", "bob", "--out", "bob")
    assert code == 1
    assert "3 memories" in told
    assert texts(tmp_path / "bob") == set()


def test_other_files_are_left_alone(command, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(ExportError, match="other files"):
        command("--user", "ann", "--out", "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]

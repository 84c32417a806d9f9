"""`discreet import` over a database."""

from __future__ import annotations

import asyncio
import json
import stat
from functools import partial

import pytest
from typer.testing import CliRunner

from discreet.access.identity import Identities, load_identities
from discreet.cli import app
from discreet.cli.importing import Asked
from discreet.errors import ImportSourceError
from discreet.settings import load_settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage

CSV = '\ufeffmemory;uid;when;tags\n"Likes tea;\nand ann@example.com";ann;2026-01-02;drinks|hot\nPlays chess;bob;2026-01-03 10:00;\n'

ASKED = partial(
    Asked, kind="csv", location="x.csv", user=None, subject=False, app_name=None, dry_run=False, sample=0, bad_rows=None,
    resume=True, columns=(), options={}, as_json=False,
)  # fmt: skip


@pytest.fixture
def command(database, tmp_path, monkeypatch):
    """Return what runs `discreet import` in a folder of its own; it returns the exit code and what was printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DISCREET_EMBEDDING_MODEL", "none")
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments):
        result = CliRunner().invoke(app, ["import", *map(str, arguments), "--dsn", database])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout

    return run


@pytest.fixture
def read(database):
    def latest(user):
        async def found():
            async with open_storage(database) as storage:
                return await storage.memories.latest(user)

        return asyncio.run(found())

    return latest


def test_a_table_is_mapped_onto_fields(command, read, tmp_path):
    (tmp_path / "facts.csv").write_text(CSV, encoding="utf-8")
    code, told = command("csv", "facts.csv", "--map", "text=memory,user_id=uid", "--map", "created_at=when")
    assert code == 0
    assert "2 rows of 2 users settled (" in told
    [fact] = read("ann")
    assert fact.text == "Likes tea;\nand <EMAIL>"
    assert (fact.tags, fact.created_at.isoformat()) == (["drinks", "hot"], "2026-01-02T00:00:00+00:00")
    assert fact.provenance.source == "import:csv"


@pytest.mark.slow
def test_a_dry_run_shows_what_would_be_stored_redacted(command, read, tmp_path):
    (tmp_path / "facts.csv").write_text(CSV, encoding="utf-8")
    code, told = command("csv", "facts.csv", "--map", "text=memory,user_id=uid", "--dry-run", "--sample", 1, "--json")
    assert code == 0
    report = json.loads(told)
    assert (report["new"], report["users"], report["dry_run"]) == ({"conversation_insight": 2}, 2, True)
    assert "ann@example.com" not in told
    assert [sample["text"] for sample in report["sample"]] == ["Likes tea;\nand <EMAIL>"]
    assert read("ann") == []


def test_bad_rows_make_exit_code_one_and_a_private_file(command, read, tmp_path):
    lines = [{"text": "Good", "user_id": "ann"}, {"text": "", "user_id": "ann"}]
    (tmp_path / "facts.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n{broken\n", encoding="utf-8")
    code, told = command("jsonl", "facts.jsonl", "--bad-rows", "bad.jsonl")
    assert code == 1
    assert "bad.jsonl has them" in told
    assert stat.S_IMODE((tmp_path / "bad.jsonl").stat().st_mode) == 0o600
    assert len((tmp_path / "bad.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    assert len(read("ann")) == 1


@pytest.mark.slow
def test_callers_of_a_server_are_found_by_their_identity(command, read, tmp_path):
    lines = [{"text": "Ann's", "user_id": "ann@example.com"}, {"text": "Nobody's"}]
    (tmp_path / "facts.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    code, _ = command("jsonl", "facts.jsonl", "--user", "bob@example.com", "--subject")
    assert code == 0
    assert [record.text for record in read(Identities(bytes(32)).of("ann@example.com"))] == ["Ann's"]
    assert [record.text for record in read(Identities(bytes(32)).of("bob@example.com"))] == ["Nobody's"]


@pytest.mark.slow
def test_an_export_goes_into_another_database(command, read, make_database, migrated_template):
    with make_database(template=migrated_template) as source:

        async def lives():
            async with open_storage(source) as storage:
                await storage.memories.save("ann", [MemoryRecord(text="Keeps two African Grey parrots")])

        asyncio.run(lives())
        assert CliRunner().invoke(app, ["export", "--user", "ann", "--out", "ann", "--dsn", source]).exit_code == 0
    code, told = command("export", "ann", "--user", "ann")
    assert code == 0
    assert "Not imported" in told
    assert [record.text for record in read("ann")] == ["Keeps two African Grey parrots"]


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("json", "nowhere.json", "--user", "ann"), "can't be read"),
        (("export", "."), "--user"),
        (("json", "x.json", "--delimiter", ";"), "no --delimiter"),
        (("json", "x.json", "--map", "text=a"), "--map is for"),
        (("csv", "x.csv", "--map", "texts=a"), "field=column"),
        (("csv", "x.csv", "--app", ""), "--app"),
        (("csv", "x.csv", "--app", "ann@example.com"), "--app"),
        (("csv", "x.csv", "--map", "text=a,text=b"), "twice"),
    ],
)
def test_what_cannot_be_imported_is_said(command, arguments, said):
    with pytest.raises(ImportSourceError, match=said):
        command(*arguments)


def test_a_table_without_a_text_is_told_once(command, tmp_path):
    (tmp_path / "facts.csv").write_text("memory,uid\nLikes tea,ann\n" * 3, encoding="utf-8")
    with pytest.raises(ImportSourceError, match="--map text="):
        command("csv", "facts.csv", "--user", "ann")
    assert list((tmp_path).rglob("imports/*")) == []


@pytest.mark.slow
def test_lines_without_a_text_are_told_once(command, tmp_path):
    lines = "\n".join(json.dumps({"memory": f"Likes tea {n}", "user_id": "ann"}) for n in range(100))
    (tmp_path / "facts.jsonl").write_text(lines, encoding="utf-8")
    with pytest.raises(ImportSourceError, match="--map text="):
        command("jsonl", "facts.jsonl")
    assert list(tmp_path.rglob("bad-rows")) == []
    assert command("jsonl", "facts.jsonl", "--map", "text=memory")[0] == 0


def test_an_import_is_gone_on_with_in_its_own_folder_only(monkeypatch, tmp_path):
    identities = load_identities(load_settings())
    names = set()
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        names.add(ASKED(dsn="postgresql://one/a").name(identities, load_settings()))
    assert len(names) == 2


def test_an_import_is_gone_on_with_in_its_own_database_only(monkeypatch):
    identities = load_identities(load_settings())
    names = set()
    for dsn in ("postgresql://one/a", "postgresql://one/b"):
        monkeypatch.setenv("DISCREET_POSTGRES_DSN", dsn)
        names |= {ASKED(dsn=None).name(identities, load_settings()), ASKED(dsn=dsn).name(identities, load_settings())}
    assert len(names) == 2


def test_the_source_is_not_named_in_the_files_of_an_import(command, tmp_path):
    (tmp_path / "facts.jsonl").write_text("{}\n", encoding="utf-8")
    command("jsonl", "facts.jsonl")
    names = {path.name for path in tmp_path.rglob("bad-rows/*")}
    assert len(names) == 1
    assert "facts" not in names.pop()


@pytest.mark.slow
def test_what_was_imported_is_found_by_meaning(database, command, tmp_path, monkeypatch):
    """With the local embedding model."""
    monkeypatch.delenv("DISCREET_EMBEDDING_MODEL")
    lines = [{"text": text, "user_id": "ann"} for text in ("Keeps two African Grey parrots", "Works at a bank")]
    (tmp_path / "facts.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert command("jsonl", "facts.jsonl")[0] == 0

    async def found():
        async with open_storage(database) as storage:
            return await storage.memories.search("ann", "Which birds do I have?", limit=1)

    assert [hit.record.text for hit in asyncio.run(found())] == ["Keeps two African Grey parrots"]

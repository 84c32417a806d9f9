"""`discreet settings` over a database."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from discreet.access.identity import is_identity
from discreet.cli import app
from discreet.errors import SettingRefusedError
from discreet.providers import embedding_provider
from discreet.state.memory_settings import MemorySettings


@pytest.fixture
def command(database, tmp_path, monkeypatch):
    """Return what runs `discreet settings` over a database without rows, as the person ann."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", database)
    monkeypatch.setenv("DISCREET_DEDUP_THRESHOLD", "0.8")
    monkeypatch.setenv("LOGNAME", "ann.lindqvist")
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments):
        result = CliRunner().invoke(app, ["settings", *arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


def listed(command):
    return {row["name"]: row for row in json.loads(command("list", "--json").stdout)}


@pytest.mark.slow
def test_a_setting_is_set_told_and_unset(command):
    assert command("set", "memory_retrieve_limit", "9").stdout == "memory_retrieve_limit is 9 (database).\n"
    rows = listed(command)
    assert rows.keys() == MemorySettings.model_fields.keys()
    assert (rows["memory_retrieve_limit"]["value"], rows["memory_retrieve_limit"]["source"]) == (9, "database")
    assert (rows["memory_dedup_threshold"]["value"], rows["memory_dedup_threshold"]["source"]) == (0.8, "environment")
    assert (rows["context_window_size"]["value"], rows["context_window_size"]["source"]) == (None, "default")
    assert command("unset", "memory_retrieve_limit").stdout == "memory_retrieve_limit is 5 (default).\n"


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("memory_extraction_enabled", "false", False),
        ("memory_retrieve_threshold", "0.25", 0.25),
        ("memory_extraction_provider", "google", "google"),
        ("memory_extraction_provider", '"google"', "google"),
        ("memory_extraction_model", "4", "4"),
        ("retention_log_days", "0", 0),
        ("retention_checkpoint_days", "4000", 4_000),
        ("embedding_model", "null", "null"),
    ],
)
def test_values_are_json_or_a_text(command, name, written, value):
    command("set", name, written)
    assert (listed(command)[name]["value"], listed(command)[name]["source"]) == (value, "database")


def test_what_an_embedding_model_takes_is_said(command):
    assert "when they start again" in command("set", "embedding_provider", "local").stdout


@pytest.mark.slow
@pytest.mark.dialect
def test_memories_are_embedded_anew_by_the_model_of_the_database(command, monkeypatch):
    monkeypatch.setenv("DISCREET_EMBEDDING_MODEL", "none")
    command("set", "embedding_provider", "local")
    result = CliRunner().invoke(app, ["reembed", "--json"])
    assert json.loads(result.stdout)["space"] == embedding_provider("local").name


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["set", "memory_retrieve_limit", "99"], "less than or equal to 50"),
        (["set", "memory_retrieve_limit", "many"], "integer"),
        (["set", "memory_extraction_enabled", "1"], "boolean"),
        (["set", "retrieve_limit", "9"], "Did you mean memory_retrieve_limit"),
        (["unset", "retrieve_limit"], "Did you mean memory_retrieve_limit"),
    ],
)
def test_what_cannot_be_used_changes_nothing(command, arguments, told):
    with pytest.raises(SettingRefusedError, match=told):
        command(*arguments)
    assert command("history", "--json").stdout == ""


@pytest.mark.slow
def test_history_names_a_pseudonym_and_never_the_person(command):
    for limit in ("1", "2", "3"):
        command("set", "memory_retrieve_limit", limit)
    command("set", "memory_extraction_enabled", "false")
    lines = [json.loads(line) for line in command("history", "--json").stdout.splitlines()]
    assert [(line["name"], line["old"], line["new"]) for line in lines] == [
        ("memory_extraction_enabled", None, False),
        ("memory_retrieve_limit", 2, 3),
        ("memory_retrieve_limit", 1, 2),
        ("memory_retrieve_limit", None, 1),
    ]
    (by,) = {line["changed_by"] for line in lines}
    assert by.startswith("cli:")
    assert is_identity(by.removeprefix("cli:"))
    page = command("history", "--json", "--name", "memory_retrieve_limit", "--limit", "1", "--before", "3").stdout
    assert json.loads(page)["new"] == 2
    assert "lindqvist" not in "".join(str(line) for line in lines)


@pytest.mark.slow
def test_tables_are_for_people(command):
    command("set", "memory_retrieve_limit", "9")
    for arguments in (["list"], []):
        shown = command(*arguments).stdout
        assert "Memories put into a prompt at most." in shown
        assert all(name in shown for name in MemorySettings.model_fields)
        assert "database" in shown
    shown = command("history").stdout
    assert "memory_retrieve_limit" in shown
    assert "- → 9" in shown
    assert "cli:" in shown

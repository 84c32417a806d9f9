"""What `discreet dev` starts. That the server runs is in tests/end_to_end."""

import os
import shutil
import socket
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli import app, child_server, folders
from discreet.cli.dev import run_dev
from discreet.errors import ConfigurationError
from discreet.settings import Settings

DISCREET = Path(sys.executable).parent / "discreet"
SETPRIV = shutil.which("setpriv")


@pytest.fixture
def started(tmp_path, monkeypatch):
    """The options that servers were started with, in a project's folder, and none was."""
    calls = []
    monkeypatch.chdir(tmp_path)
    (tmp_path / "langgraph.json").write_text("{}")
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(os, "umask", lambda _mask: 0)
    monkeypatch.setattr(import_module("discreet.cli.dev"), "_serve", lambda options: calls.append(options) or 0)
    return calls


@pytest.mark.slow
@pytest.mark.parametrize(("options", "jobs"), [([], "10"), (["--jobs", "3"], "3")])
def test_so_many_turns_run_at_a_time(started, options, jobs):
    assert CliRunner().invoke(app, ["dev", *options]).exit_code == 0
    ((*_, name, number),) = started
    assert (name, number) == ("--n-jobs-per-worker", jobs)


def test_no_turn_at_a_time_is_refused(started):
    assert CliRunner().invoke(app, ["dev", "--jobs", "0"]).exit_code == 2
    assert started == []


def test_a_port_for_metrics_that_is_taken_is_one_sentence_before_anything_starts(started, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        monkeypatch.setenv("DISCREET_METRICS_PORT", port)
        with pytest.raises(ConfigurationError, match=f"^DISCREET_METRICS_PORT={port} can't be opened"):
            run_dev(port=None)
    assert started == []


def test_what_fails_beside_a_server_stops_it():
    def fail():
        raise ConfigurationError("no")

    with pytest.raises(ConfigurationError):
        child_server.run_server(
            [sys.executable, "-c", "import time; time.sleep(600)"], {}, stop_seconds=10, meanwhile=fail
        )


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"file is no folder\. Set DISCREET_DATA_DIR"):
        folders.check_data_folder(Settings(_env_file=None, data_dir=tmp_path / "file" / "data"))


def test_a_database_of_ones_own_needs_no_data_folder(tmp_path):
    (tmp_path / "file").touch()
    folders.check_data_folder(Settings(_env_file=None, postgres_dsn="host=db", data_dir=tmp_path / "file"))


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() == 0 and SETPRIV is None, reason="root writes anywhere unless setpriv takes that away")
@pytest.mark.parametrize(
    ("command", "elsewhere"),
    [("dev", False), ("chat", False), ("demo", False), ("serve", False), ("dev", True)],
    ids=["dev", "chat", "demo", "serve", "dev with another data folder"],
)
def test_a_folder_that_cannot_be_written_to_is_one_sentence_with_what_to_do(tmp_path, command, elsewhere):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "langgraph.json").write_text("{}")
    folder.chmod(0o500)
    limited = [SETPRIV, "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    private = ("DISCREET_", "OPENAI_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(private)}
    if elsewhere:
        environment["DISCREET_DATA_DIR"] = str(tmp_path / "data")
    ended = subprocess.run(
        [*limited, DISCREET, command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    step = "run this in a folder" if elsewhere else "Set DISCREET_DATA_DIR"
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith(f"discreet: The folder {folder} can't be written to. ")
    assert step in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_langgraph_json_that_is_no_json_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("langgraph.json").write_text("{'graphs': 1}")
    with pytest.raises(ConfigurationError, match=r"langgraph\.json is no JSON"):
        run_dev(port=None)

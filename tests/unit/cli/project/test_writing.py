"""What `discreet init` puts into a folder, and that it leaves nothing when it can't."""

import json
import os
import pty
import socket
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from ruff import find_ruff_bin
from typer.testing import CliRunner

from discreet.cli import app
from discreet.cli.project import writing
from discreet.cli.project.naming import ProjectName
from discreet.cli.project.writing import write_project
from discreet.errors import ConfigurationError, ProjectFolderError
from discreet.settings import Settings

NAME = ProjectName("my-bot", "my_bot")
DISCREET = Path(sys.executable).parent / "discreet"
RUFF = find_ruff_bin()


@pytest.fixture
def project(tmp_path):
    """A project that was just written."""
    write_project(tmp_path / "new" / "bot", NAME, "discreet[local]==1.2.3")
    return tmp_path / "new" / "bot"


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_it_has_what_a_project_needs_under_its_own_name(project):
    assert files_of(project) == {
        ".env", ".env.example", ".gitignore", ".github/workflows/tests.yml", "Makefile", "README.md", "langgraph.json",
        "pyproject.toml", "my_bot/__init__.py", "my_bot/graph.py", "my_bot/server.py", "my_bot/state.py", "my_bot/tools.py",
        "my_bot/prompts/__init__.py", "my_bot/prompts/system.md", "tests/conftest.py", "tests/test_assistant.py",
    }  # fmt: skip
    for path in filter(Path.is_file, project.rglob("*")):
        assert "your" not in path.read_text(encoding="utf-8").replace("your own", "").replace("Your own", ""), path
    served = json.loads((project / "langgraph.json").read_text())
    assert served["graphs"]["agent"]["path"] == "./my_bot/server.py:graph"
    assert tomllib.loads((project / "pyproject.toml").read_text())["project"]["dependencies"] == [
        "discreet[local]==1.2.3"
    ]


def test_its_keys_are_its_own_and_are_for_its_owner_alone(project, tmp_path, monkeypatch):
    monkeypatch.delenv("DISCREET_IDENTITY_KEY")
    write_project(tmp_path / "other", NAME, "discreet")
    env = project / ".env"
    assert stat.S_IMODE(env.stat().st_mode) == 0o600
    assert ".env" in (project / ".gitignore").read_text().splitlines()
    first, second = (Settings(_env_file=folder / ".env") for folder in (project, tmp_path / "other"))
    for key in ("encryption_keys", "identity_key", "placeholder_key"):
        assert getattr(first, key).get_secret_value()
        assert getattr(first, key) != getattr(second, key)
    example = Settings(_env_file=project / ".env.example")
    named = {"chat_model", "embedding_model", "extraction_provider"}
    assert named <= example.model_fields_set
    assert all(name.startswith("retention_") for name in example.model_fields_set - named)
    said = (example.chat_model, example.embedding_model, example.extraction_provider)
    assert said == ("offline", "local", "offline"), "a first run needs neither key nor network"


def test_its_settings_file_says_for_how_long_things_are_kept(project):
    kept = {"retention_log_days": 30, "retention_checkpoint_days": 30, "retention_turn_days": 180}
    for file in (".env.example", ".env"):
        assert kept.items() <= Settings(_env_file=project / file).model_dump().items()


def test_its_code_is_clean(project):
    for check in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [RUFF, *check, "--no-cache", "."], cwd=project, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout


def test_a_folder_that_is_in_use_is_refused_and_stays_as_it_is(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ProjectFolderError, match=r"has files in it already, such as notes\.txt\. Name another folder"):
        write_project(tmp_path, NAME, "discreet")
    assert files_of(tmp_path) == {"notes.txt"}


def test_a_repository_and_an_environment_may_be_there_before(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".venv").mkdir()
    write_project(tmp_path, NAME, "discreet")
    assert (tmp_path / "langgraph.json").is_file()


@pytest.mark.parametrize("there", [True, False], ids=["an empty folder", "no folder"])
def test_nothing_is_left_of_what_fails(tmp_path, monkeypatch, there):
    folder = tmp_path / "bot"
    if there:
        (folder / ".git").mkdir(parents=True)
    renamed = Path.rename

    def fail(path, target):
        if path.name == "tests":
            raise OSError(28, "No space left on device")
        return renamed(path, target)

    monkeypatch.setattr(writing.Path, "rename", fail)
    with pytest.raises(ProjectFolderError, match="No space left on device"):
        write_project(folder, NAME, "discreet")
    assert [each.name for each in tmp_path.rglob("*")] == (["bot", ".git"] if there else [])


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path):
    (tmp_path / "bot").touch()
    with pytest.raises(ProjectFolderError, match="can't be written"):
        write_project(tmp_path / "bot", NAME, "discreet")


def test_the_command_says_what_to_do_next(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(app, ["init", "my bot"])
    assert said.exit_code == 0
    assert "Next:\n  cd 'my bot'\n  make install" in said.output
    assert (tmp_path / "my bot" / "my_bot" / "graph.py").is_file()


def test_here_is_a_folder_too(tmp_path, monkeypatch):
    (tmp_path / "helper").mkdir()
    monkeypatch.chdir(tmp_path / "helper")
    said = CliRunner().invoke(app, ["init", "."])
    assert "  cd " not in said.output
    assert Path("helper/graph.py").is_file()


def test_without_a_terminal_dev_names_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused = CliRunner().invoke(app, ["dev"])
    assert isinstance(refused.exception, ConfigurationError)
    assert "discreet init DIR" in str(refused.exception)
    assert files_of(tmp_path) == set()


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "starts"), [(b"\n", True), (b"n\n", False)])
def test_on_a_terminal_dev_offers_to_start_a_project(tmp_path, answer, starts):
    folder = tmp_path / "bot"
    folder.mkdir()
    terminal, seen = pty.openpty()
    with socket.create_server(("127.0.0.1", 0)) as taken:  # so that it ends where the server would begin
        command = [DISCREET, "dev", "--port", str(taken.getsockname()[1])]
        started = subprocess.Popen(command, cwd=folder, stdin=seen, stdout=seen, stderr=subprocess.PIPE)
        os.close(seen)
        os.write(terminal, answer)
        _, error = started.communicate(timeout=120)
    said = os.read(terminal, 100_000).decode()
    os.close(terminal)
    assert "Start a project here? [Y/n]" in said
    assert started.returncode == 2
    assert ("Choose another one: discreet dev --port" if starts else "discreet init DIR") in error.decode()
    assert (folder / "langgraph.json").is_file() is starts

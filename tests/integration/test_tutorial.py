"""The four steps of docs/tutorial, done as they say; where a page shows output, it is what is printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from testkit.snippets import BLOCK, DOCS, alike, patched, shown_after, texts
from typer.testing import CliRunner

from discreet.cli import app

pytestmark = pytest.mark.slow

PAGE_OF_STEP_2 = "tutorial/2_your_own_project.md"
PAGE_OF_STEP_3 = "tutorial/3_your_existing_agent.md"
PAGE_OF_STEP_4 = "tutorial/4_rights_and_running.md"


@pytest.fixture
def discreet(empty_database, tmp_path, monkeypatch):
    """Return what runs a command line of a page over the database of the test, and returns what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))

    def run(command, code=0):
        words = [word.replace('"$DSN"', empty_database) for word in command.split()[1:]]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == code, result.output
        return result.output

    return run


def test_step_1_shows_what_the_demonstration_prints(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DISCREET_", "OPENAI_"))}
    environment |= {"COLUMNS": "400", "DISCREET_DATA_DIR": str(tmp_path / "data")}
    demo = [Path(sys.executable).parent / "discreet", "demo"]
    done = subprocess.run(demo, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    printed = {alike(line) for line in done.stdout.splitlines()}
    for block in texts("tutorial/1_see_it.md"):
        assert {alike(line) for line in block.splitlines()} <= printed


def test_step_2_makes_a_project_whose_tests_pass(tmp_path):
    assert CliRunner().invoke(app, ["init", str(tmp_path / "my-assistant")]).exit_code == 0
    text = (DOCS / PAGE_OF_STEP_2).read_text(encoding="utf-8")
    tool, tests = (code for _, code in BLOCK.findall(text))
    for named in re.findall(r"^\| `([^|]*)` \|", text, re.MULTILINE):
        assert all((tmp_path / "my-assistant" / path).is_file() for path in named.split("`, `"))
    (tmp_path / "my-assistant" / "my_assistant" / "tools.py").write_text(tool, encoding="utf-8")
    old = tmp_path / "my-assistant" / "tests" / "test_assistant.py"
    kept = old.read_text(encoding="utf-8").split("async def test_the_model_can_call_our_tool")[0]
    kept = kept.replace("from my_assistant.tools import opening_hours\n", "")
    old.write_text(kept + tests, encoding="utf-8")
    commands = ["pytest", "-q", "-p", "no:cacheprovider"], ["ruff", "check", "."], ["ruff", "format", "--check", "."]
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=tmp_path / "my-assistant", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
        assert "4 passed" in done.stdout or command[0] == "ruff"


def test_step_3_gives_an_agent_memory_and_step_4_a_user_their_rights(empty_database, discreet, monkeypatch, capsys):
    page = PAGE_OF_STEP_3
    text = (DOCS / page).read_text(encoding="utf-8")
    monkeypatch.setenv("DSN", empty_database)

    def run_agent(source):
        exec(compile(source, "agent.py", "exec", dont_inherit=True), {"__name__": "__main__"})
        return capsys.readouterr().out

    ((_, code),) = BLOCK.findall(text)
    assert "parrots" not in run_agent(code)
    assert alike(shown_after(page, 'discreet scan "$DSN"')[-1]) == alike(_found(discreet('discreet scan "$DSN"')))

    (diff,) = re.findall(r"^```diff\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(re.findall(r"^\+", diff, re.MULTILINE)) <= 10
    (shown,) = texts(page)
    assert alike(shown) in alike(run_agent(patched(code, diff)))

    discreet('discreet scrub "$DSN" --yes')
    printed = discreet('discreet scan "$DSN" --fail-on any')
    assert alike(shown_after(page, 'discreet scan "$DSN" --fail-on any')[-1]) == alike(_found(printed))

    steps = (DOCS / PAGE_OF_STEP_4).read_text(encoding="utf-8")
    commands = re.findall(r"^\$ (.*)$", steps, re.MULTILINE)
    assert len(commands) == 6
    for command in commands:
        printed = {alike(line) for line in discreet(command).splitlines()}
        assert {alike(line) for line in shown_after(PAGE_OF_STEP_4, command)} <= printed


def _found(printed):
    return next(line for line in printed.splitlines() if "ensitive value" in line)

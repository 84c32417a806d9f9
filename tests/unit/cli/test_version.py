"""The version of the command."""

import subprocess
import sys
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from discreet.cli import app


@pytest.mark.slow
def test_the_command_and_the_module_tell_their_version():
    told = CliRunner().invoke(app, ["--version"])
    assert (told.exit_code, told.output) == (0, f"discreet {version('discreet')}\n")
    module = [sys.executable, "-m", "discreet", "--version"]
    assert subprocess.run(module, capture_output=True, text=True, check=True).stdout == told.output

"""The day, as it is played through each door."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# A package of its own, because processes that play the day read it too.
sys.path.insert(0, str(Path(__file__).parent))

from scripted_day.play import House


@pytest.fixture(scope="session")
def house(discreet_command, clean_environment, make_project, wait_until_ready):
    """What every door needs."""
    return House(
        command=discreet_command,
        environment=clean_environment,
        make_project=make_project,
        wait_until_ready=wait_until_ready,
    )

"""The scripts of tools/ can be imported."""

from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[3] / "tools"


@pytest.fixture(autouse=True)
def _tools_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))

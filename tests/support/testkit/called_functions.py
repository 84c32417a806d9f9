"""A plugin of pytest that notes which functions of the product each file of tests calls.

`pytest -p testkit.called_functions --called-functions FOLDER` writes a JSON file into FOLDER, with pytest-xdist one a worker:
by test file its seconds, whether it failed, and the functions as `src/discreet/locks.py:setup_lock`. What an import runs is
left out, and so are processes that tests start. A fixture of the session counts for the file that is first to need it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType

import pytest

ROOT = Path(__file__).resolve().parents[3]
ROOMS = tuple(f"{ROOT / room}{os.sep}" for room in ("src/discreet", "state", "prompts", "nodes", "graph"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--called-functions", metavar="FOLDER", help="where to write which functions each test file calls")


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("--called-functions")
    if folder is not None and not config.getoption("numprocesses", default=None):
        config.pluginmanager.register(Recorder(Path(folder)))


class Recorder:
    """What the tests of this process call."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._functions: dict[str, set[str]] = defaultdict(set)
        self._seconds: dict[str, float] = defaultdict(float)
        self._failed: set[str] = set()
        self._current: set[str] | None = None
        # By the place of the code in memory, as to hash a code object costs more than the rest; it is held so that it stays.
        self._known: dict[int, tuple[CodeType, str | None]] = {}

    def pytest_collection_finish(self) -> None:
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._current = self._functions[nodeid.partition("::")[0]]
        sys.settrace(self._trace)  # a test may have taken it away

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.partition("::")[0]
        self._seconds[name] += report.duration
        if report.failed:
            self._failed.add(name)

    def pytest_sessionfinish(self) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]  # typeshed knows of no None, which the documentation names
        self._folder.mkdir(parents=True, exist_ok=True)
        found = {
            name: {"seconds": self._seconds[name], "failed": name in self._failed, "functions": sorted(functions)}
            for name, functions in self._functions.items()
        }
        (self._folder / f"{os.getpid()}.json").write_text(json.dumps(found), encoding="utf-8")

    def _trace(self, frame: FrameType, event: str, arg: object) -> None:
        """Note a call; None as the answer lets the function run without being traced line by line."""
        code = frame.f_code
        known = self._known.get(id(code))
        if known is None:
            known = self._known[id(code)] = (code, _name_of(code))
        if known[1] is not None and self._current is not None:
            self._current.add(known[1])


def _name_of(code: CodeType) -> str | None:
    """Return the file and the qualified name of a function of the product; None for any other code."""
    path = os.path.realpath(code.co_filename)
    if not path.startswith(ROOMS) or code.co_name == "<module>":
        return None
    return f"{Path(path).relative_to(ROOT).as_posix()}:{code.co_qualname}"

"""axe-core, the accessibility checker, on a page that a browser shows."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

HERE = Path(__file__).resolve().parents[2] / "browser"
SCRIPT = HERE / "node_modules" / "axe-core" / "axe.min.js"
SECONDS = 300
"""That `npm ci` may take; it loads 3 MB."""

RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ['violations'] }).then(
  (found) => done(found.violations.map((each) => each.id + ': ' + each.nodes.map((node) => node.html.slice(0, 120)).join(' | '))),
  (error) => done([String(error)]),
);
"""


def violations(page: Chrome) -> list[str]:
    """Return what axe finds wrong with the page shown, by all its rules; skip the test where axe can't be installed.

    The driver runs the script in the page, so that its content security policy stays as strict as it is.
    """
    page.execute_script(_source())
    return page.execute_async_script(RUN)


@cache
def _source() -> str:
    if not SCRIPT.exists():
        _install()
    return SCRIPT.read_text(encoding="utf-8")


def _install() -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("axe-core needs npm, which is not on PATH")
    with (HERE / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests in other processes want it too
        if not SCRIPT.exists():
            done = subprocess.run([npm, "ci"], cwd=HERE, capture_output=True, text=True, timeout=SECONDS, check=False)
            if done.returncode != 0:
                pytest.skip(f"npm ci ended with {done.returncode}: {done.stderr.strip()[-300:]}")

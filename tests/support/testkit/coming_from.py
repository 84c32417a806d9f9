"""Read a page of docs/coming_from: the program before its change and after it, and its commands; and run these."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import indent
from typing import Any, Literal

from kit.search import in_rows

from discreet.redaction import Redactor
from testkit.scripts import run_script

PAGES = Path(__file__).resolve().parents[3] / "docs" / "coming_from"

EMAIL, PHONE = "lan.pham@example.com", "+1 415 555 0132"
"""What the users of these tests say, so that it can be searched for."""

_MAIN = "from discreet.cli import main; main()"

Side = Literal["before", "after"]


@dataclass(frozen=True)
class Page:
    """One page."""

    name: str

    @property
    def text(self) -> str:
        """The page as it is."""
        return (PAGES / self.name).read_text(encoding="utf-8")

    def code(self, side: Side) -> str:
        """Return the program as it is before the change, or after it."""
        (block,) = re.findall(r"^```diff\n(.*?)^```", self.text, re.MULTILINE | re.DOTALL)
        other = "+" if side == "before" else "-"
        lines = [line[1:] for line in block.splitlines() if not line.startswith(other)]
        return "\n".join(lines).replace("…", "...").rstrip()

    def source(self, side: Side, *parameters: str) -> str:
        """Return an async generator function `page(*parameters)` that does what is written, and yields its names at the end.

        It yields where the last line is, so that what that line is in is still open.
        """
        code = self.code(side)
        last = re.findall(r"^ *(?=[^\s)\]}])", code, re.MULTILINE)[-1]
        head = f"async def page({', '.join(parameters)}):\n"
        return head + indent(f"{code}\n{last}yield locals()\n", " " * 4)

    def program(self, side: Side, **given: Any) -> AbstractAsyncContextManager[dict[str, Any]]:
        """Return the program, given what it does not say itself: it runs when it is entered, and returns its names."""
        names: dict[str, Any] = {}
        exec(compile(self.source(side, *given), self.name, "exec"), names)
        return asynccontextmanager(names["page"])(**given)

    def functions(self, side: Side, **given: Any) -> dict[str, Any]:
        """Return what the program defines, where that is functions which know of `given`."""
        exec(compile(self.code(side), self.name, "exec"), given)
        return given

    def commands(self, **places: str) -> list[list[str]]:
        """Return the arguments of each `discreet …` in its order, with our places instead of the page's."""
        text = "\n".join(re.findall(r"^```console\n(.*?)^```", self.text, re.MULTILINE | re.DOTALL))
        for theirs, ours in places.items():
            text = text.replace(theirs, ours)
        return [shlex.split(line, comments=True) for line in re.findall(r"^\$ discreet (.*)", text, re.MULTILINE)]


@dataclass
class Terminal:
    """Runs `discreet` in a folder, each time in a process of its own."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, code: int = 0) -> str:
        """Run a command that is to end with `code`, and return what it printed: never what the users said."""
        done = run_script(_MAIN, *arguments, environment={**os.environ, **self.environment}, cwd=self.folder)
        assert done.returncode == code, f"{arguments}: {done.stdout}{done.stderr}"
        told = done.stdout + done.stderr
        assert not [value for value in (EMAIL, PHONE) if value in told], arguments
        return done.stdout


def raw_in(dsn: str) -> list[str]:
    """Return which of the users' values stand in a database, and where."""
    return [f"{name} in {place}" for name, where in in_rows(dsn, mail=EMAIL, phone=PHONE).items() for place in where]


def redacted(text: str) -> str:
    """Return a text as it is stored outside of threads."""
    return Redactor().redact(text)

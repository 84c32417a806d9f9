"""Copies of the working tree in which tests run with a mistake in the product, beside the one that people work in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scratch import end_processes, environment_for

ROOT = Path(__file__).resolve().parent.parent
TOP_ROOMS = ("graph", "nodes", "state", "prompts")
PRODUCT = Path("src/discreet")
NOT_MUTATED = ("/cli/project/template/",)
"""Files that are copied into a user's project, where nothing of this suite runs."""
NOTICED = re.compile(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", re.MULTILINE)
PASSED, NOTHING_RAN = 0, 5
"""Exit codes of pytest."""


class MutantError(Exception):
    """A mutant can't be played."""


@dataclass(frozen=True)
class Mutant:
    """One mistake: bytes of a file from `start` to `end`, and what is put there."""

    name: str
    room: str
    file: str
    start: int
    end: int
    put: str
    tests: tuple[str, ...] = ()
    """Files that have to notice it; none are named for a mutant made by rule."""
    scope: str = ""
    in_function: bool = False

    def applied(self, tree: Path) -> bytes:
        """Return its file of `tree` with the mistake."""
        source = (tree / self.file).read_bytes()
        return source[: self.start] + self.put.encode() + source[self.end :]


def room_of(file: str) -> str:
    """Return the room of a file of the product; "root" for a module of src/discreet itself."""
    path = Path(file)
    if path.parts[0] in TOP_ROOMS:
        return path.parts[0]
    inner = path.relative_to(PRODUCT).parts
    return inner[0] if len(inner) > 1 else "root"


def product_files(root: Path) -> Iterator[Path]:
    """Yield the modules of the product."""
    for room in (*TOP_ROOMS, PRODUCT):
        for path in sorted((root / room).rglob("*.py")):
            if not any(part in path.as_posix() for part in NOT_MUTATED):
                yield path


class Tree:
    """A copy of the working tree with an environment whose `discreet` is that copy's."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self._tmp = folder / "tmp"
        self._python = self.root / ".venv" / "bin" / "python"
        self._moment = time.time()
        self._is_stopped = False
        listed = subprocess.run(
            ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
        )
        names = [name for name in listed.stdout.decode().split("\0") if (ROOT / name).is_file()]
        for inner in {Path(name).parent for name in names}:
            (self.root / inner).mkdir(parents=True, exist_ok=True)
            if (compiled := ROOT / inner / "__pycache__").is_dir():  # to compile all anew takes half a minute
                shutil.copytree(compiled, self.root / inner / "__pycache__")
        for name in names:
            shutil.copy2(ROOT / name, self.root / name)
        self._make_environment()

    def _make_environment(self) -> None:
        """Link what this interpreter's environment has, but for the finder that leads to the working tree."""
        subprocess.run([sys.executable, self.root / "tools" / "link_rooms.py"], check=True)
        venv.create(self.root / ".venv", symlinks=True)
        here = next(path for path in map(Path, sys.path) if path.name == "site-packages")
        packages = self.root / ".venv" / here.relative_to(sys.prefix)
        for each in here.iterdir():
            if not each.name.startswith("__editable__") and each.name != "__pycache__":
                (packages / each.name).symlink_to(each)
        (packages / "rooms.pth").write_text(f"{self.root / '.rooms'}\n", encoding="utf-8")
        for program in Path(sys.prefix, "bin").iterdir():
            target = self.root / ".venv" / "bin" / program.name
            if not target.exists() and program.is_file():
                content = program.read_bytes()
                target.write_bytes(content.replace(f"{sys.prefix}/bin/python".encode(), bytes(self._python), 1))
                target.chmod(0o755)
        asked = "import discreet, discreet.graph; print(discreet.__file__, discreet.graph.__file__)"
        found = subprocess.run(
            [self._python, "-c", asked],
            cwd=self.root,
            env=environment_for(self._tmp),
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        if not all(Path(each).is_relative_to(self.root) for each in found):
            raise MutantError(f"The copy in {self.root} has Discreet from {found}.")

    @contextmanager
    def with_mistake(self, mutant: Mutant) -> Iterator[None]:
        """Have the mistake in the copy. The file's time moves on with each change, so that no compiled one is taken for it."""
        path = self.root / mutant.file
        before = path.read_bytes()
        self._write(path, mutant.applied(self.root))
        try:
            yield
        finally:
            self._write(path, before)

    def _write(self, path: Path, content: bytes) -> None:
        self._moment += 2
        path.write_bytes(content)
        os.utime(path, (self._moment, self._moment))

    def run(self, tests: Sequence[str], seconds: float) -> tuple[int | None, str]:
        """Run tests and return pytest's exit code and the first that failed; None as the code after so many seconds.

        Raises:
            MutantError: The tree was stopped.
        """
        if self._is_stopped:
            raise MutantError("Stopped.")
        self._tmp.mkdir()
        self._tmp.chmod(0o755)
        environment = environment_for(self._tmp) | {"VIRTUAL_ENV": str(self.root / ".venv")}
        options = ["-x", "-q", "-rfE", "--tb=no", "--color=no", "-pno:cacheprovider", "-pno:xdist"]
        options.append("--hypothesis-profile=repeatable")
        command = [self._python, "-m", "pytest", *options, *tests]
        process = subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        code: int | None
        try:
            output, _ = process.communicate(timeout=seconds)
            code = process.returncode
        except subprocess.TimeoutExpired:
            code = None
            process.kill()
            end_processes(self._tmp)  # they hold the other end of its output
            output, _ = process.communicate()
        end_processes(self._tmp)
        shutil.rmtree(self._tmp, ignore_errors=True)
        noticed = NOTICED.search(output)
        return code, noticed[1] if noticed else output.strip().rpartition("\n")[2]

    def stop(self) -> None:
        """Let no more tests begin, and end those that run."""
        self._is_stopped = True
        end_processes(self.root.parent)

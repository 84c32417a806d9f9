"""Run the tests of users' calls as they stood at one commit, unchanged, against the product as it is now.

    python tools/frozen_tests.py [--list] [--only PATTERN] [--jobs N] [--json]

A test file of that commit belongs to them if it imports from `discreet` nothing but modules that the commit's
docs/reference names: those of its `autoclass`, `autofunction`, `autodata` and `automodule` lines, the packages these lie
in, and `discreet.errors`, whose page shows its text. Files about the repository itself (its pages, examples, packaging)
are left out: `--list` names each with the reason.

Examples are drawn by one seed, so that each run has the same.

The tests find the working tree around them, by links. Their conftest.py and support are those of the commit; what lies
in tests/frozen is laid over them and may replace such files only. tests/frozen/allowed.toml names files that may fail:
`"tests/unit/test_x.py" = "the decision that allows it"`. Exit code 1 if another file fails, or an allowed one passes.
Files in which all tests are slow are not run, and named.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from scratch import environment_for, interrupt_when_ended, scratch_folder

ROOT = Path(__file__).resolve().parent.parent
COMMIT = "28894dd0"
"""The last commit before rooms were rebuilt."""
OVERLAY = ROOT / "tests" / "frozen"
ALLOWED = "allowed.toml"
DIRECTIVE = re.compile(r"^\.\. auto(class|function|data|module):: ([\w.]+)", re.MULTILINE)
SHOWN_AS_TEXT = frozenset({"discreet.errors"})
"""Modules whose reference page includes their source."""
ELSEWHERE = {"tests/aegra/": "needs an environment of its own: make test-aegra"}
"""Folders whose conftest.py leaves its files out, which pytest ignores for files that are named to it."""
PAGE_READERS = frozenset({"testkit.coming_from", "testkit.monitoring", "testkit.snippets"})
"""Support modules that read pages, dashboards or examples of the repository."""
FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/\S+?\.py)\b", re.MULTILINE)
RAN = re.compile(r"^\[gw\d+\] .*?(?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (tests/\S+?\.py)\b", re.MULTILINE)
OF_A_TEST = re.compile(r"\[gw\d+\] .*(?:PASSED|SKIPPED|XFAIL)|tests/|scheduling")
"""Lines of pytest-xdist about one test that is fine, or begins."""
NOT_COPIED = frozenset({"tests", "pyproject.toml", ".git", ".venv", "build", "dist"})
"""What the frozen tests don't find around them: the first two are those of the commit."""
TESTS_RAN = (0, 1)
"""Exit codes of pytest when all files were run."""


class FrozenError(Exception):
    """The frozen tests can't be run."""


@dataclass(frozen=True)
class Choice:
    """What of the commit's tests is run, and what is left out with the reason."""

    files: list[str]
    left_out: dict[str, str]


def main() -> int:
    """Run the files and name those that fail."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the files, run none")
    parser.add_argument("--only", metavar="PATTERN", help="files that fit, as in tests/unit/redaction/*")
    parser.add_argument("--jobs", type=int, default=3, help="files that run at a time (default 3)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args()
    interrupt_when_ended()
    try:
        with scratch_folder() as folder:
            return _play(folder, options)
    except FrozenError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _play(folder: Path, options: argparse.Namespace) -> int:
    tree = folder / "tree"
    extract(tree)
    choice = choose(tree / "tests", listed_modules(_reference_pages()))
    files = [name for name in choice.files if options.only is None or fnmatch(name, options.only)]
    if options.list:
        print(json.dumps({"files": files, "left_out": choice.left_out}) if options.json else _listed(files, choice))
        return 0
    if not files:
        raise FrozenError(f"No frozen test file fits {options.only}.")
    overlay(OVERLAY, tree / "tests")
    allowed = read_allowed(OVERLAY / ALLOWED, choice.files)
    output = _pytest(tree, files, options.jobs, quiet=options.json)
    failed = sorted(set(FAILED.findall(output)))
    not_run = sorted(set(files) - set(RAN.findall(output)) - set(failed))
    new = [name for name in failed if name not in allowed]
    stale = sorted(set(allowed) & set(files) - set(failed))
    if options.json:
        found = {"failed": failed, "not_allowed": new, "no_longer_failing": stale, "not_run": not_run}
        print(json.dumps({"files": len(files), **found}))
    else:
        for name in failed:
            print(f"no longer passes: {name}{f' (allowed: {allowed[name]})' if name in allowed else ''}")
        for name in stale:
            print(f"passes: {name}: remove it from tests/frozen/{ALLOWED}")
        for name in not_run:
            print(f"not run: {name}: all of its tests are slow")
        passed = len(files) - len(failed) - len(not_run)
        print(
            f"{len(files)} files of {COMMIT}: {passed} pass, {len(not_run)} are slow and were not run,"
            f" {len(failed)} fail, {len(new)} of them not allowed"
        )
    return 1 if new or stale else 0


def _listed(files: Sequence[str], choice: Choice) -> str:
    left_out = [f"left out: {name}: {reason}" for name, reason in choice.left_out.items()]
    return "\n".join([*files, *left_out, f"{len(files)} files, {len(left_out)} left out"])


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        raise FrozenError(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def extract(tree: Path) -> None:
    """Lay tests and settings of pytest as they stood at the commit into `tree`, and links to the working tree beside them.

    Raises:
        FrozenError: The repository doesn't have the commit.
    """
    found = subprocess.run(
        ["git", "cat-file", "-e", f"{COMMIT}^{{commit}}"], cwd=ROOT, capture_output=True, check=False
    )
    if found.returncode != 0:
        raise FrozenError(
            f"This clone doesn't have the commit {COMMIT}, where the frozen tests are. Fetch the whole history: git fetch --unshallow"
        )
    tree.mkdir()
    with tarfile.open(fileobj=io.BytesIO(_git("archive", COMMIT, "tests", "pyproject.toml"))) as archive:
        archive.extractall(tree, filter="data")
    for source in ROOT.iterdir():
        if source.name not in NOT_COPIED:
            (tree / source.name).symlink_to(source)


def _reference_pages() -> Iterator[str]:
    for name in _git("ls-tree", "-r", "--name-only", COMMIT, "docs/reference").decode().split():
        yield _git("show", f"{COMMIT}:{name}").decode()


def listed_modules(pages: Iterable[str]) -> set[str]:
    """Return the modules that hold what `pages` list, with the packages these lie in."""
    modules = set(SHOWN_AS_TEXT)
    for page in pages:
        for kind, name in DIRECTIVE.findall(page):
            modules.add(name if kind == "module" else name.rpartition(".")[0])
    return {str(parent).replace("/", ".") for name in modules for parent in _with_parents(name)}


def _with_parents(name: str) -> list[PurePosixPath]:
    path = PurePosixPath(name.replace(".", "/"))
    return [path, *path.parents[:-1]]


def choose(tests: Path, listed: set[str]) -> Choice:
    """Return which files of `tests` call only what is `listed`, and which of these are about the repository."""
    files, left_out = [], {}
    for path in sorted(tests.rglob("test_*.py")):
        name = path.relative_to(tests.parent).as_posix()
        source = ast.parse(path.read_text(encoding="utf-8"))
        imported = set(imported_modules(source))
        if not {module for module in imported if module.split(".")[0] == "discreet"} <= listed:
            continue
        if folder := next((folder for folder in ELSEWHERE if name.startswith(folder)), None):
            left_out[name] = ELSEWHERE[folder]
        elif readers := sorted(imported & PAGE_READERS):
            left_out[name] = f"is about pages of the repository, which {readers[0]} reads"
        elif _reaches_the_top(source, levels=name.count("/")):
            left_out[name] = "is about files of the repository"
        else:
            files.append(name)
    return Choice(files, left_out)


def imported_modules(source: ast.AST) -> Iterator[str]:
    """Yield the modules that are imported anywhere in `source`."""
    for node in ast.walk(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module


def _reaches_the_top(source: ast.AST, *, levels: int) -> bool:
    """Tell whether a file that lies `levels` folders below the repository's top asks for that folder."""
    for node in ast.walk(source):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "parents":
            index = node.slice
            if isinstance(index, ast.Constant) and index.value == levels:
                return True
    return False


def overlay(source: Path, tests: Path) -> None:
    """Copy what replaces conftest.py and support of the commit.

    Raises:
        FrozenError: `source` has a file of another kind, such as a test.
    """
    for path in sorted(source.rglob("*")):
        place = path.relative_to(source)
        if path.is_dir() or "__pycache__" in place.parts or place.as_posix() == ALLOWED:
            continue
        if place.name.startswith("test_") or not (place.name == "conftest.py" or place.parts[0] == "support"):
            raise FrozenError(
                f"tests/frozen/{place} replaces no conftest.py and no file of support: frozen tests stay as they are."
            )
        (tests / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, tests / place)


def read_allowed(path: Path, files: Sequence[str]) -> Mapping[str, str]:
    """Return which files may fail and why.

    Raises:
        FrozenError: A name isn't in `files`, or has no reason.
    """
    allowed = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name, reason in allowed.items():
        if name not in files or not (isinstance(reason, str) and reason.strip()):
            raise FrozenError(f"tests/frozen/{ALLOWED}: {name} is no frozen test file, or has no reason.")
    return allowed


def _pytest(tree: Path, files: Sequence[str], jobs: int, *, quiet: bool) -> str:
    """Run `files` and return what pytest said; unless `quiet` it is printed while it comes, but for tests that pass.

    Raises:
        FrozenError: Not all tests could be run, or none is named though some failed.
    """
    scratch = tree.parent / "tmp"
    scratch.mkdir()
    scratch.chmod(0o755)
    environment = environment_for(scratch)
    _check_product(environment, tree)
    options = ["-v", "-rfE", "-p", "no:cacheprovider", "-n", str(jobs), "--dist", "loadfile"]
    command = [sys.executable, "-m", "pytest", *options, "--color=no", "--hypothesis-seed=0"]
    output = []
    with subprocess.Popen(
        [*command, *files], cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                output.append(line)
                if not quiet and not OF_A_TEST.match(line):
                    print(line, end="", flush=True)
        except BaseException:  # stopped: so are the tests
            process.terminate()
            raise
    if process.returncode not in TESTS_RAN or bool(process.returncode) != bool(FAILED.search("".join(output))):
        raise FrozenError(f"pytest ended with {process.returncode}:\n{''.join(output[-40:])}")
    return "".join(output)


def _check_product(environment: Mapping[str, str], tree: Path) -> None:
    asked = [sys.executable, "-c", "import discreet, pathlib; print(pathlib.Path(discreet.__file__).resolve())"]
    found = Path(
        subprocess.run(asked, cwd=tree, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    )
    if not found.is_relative_to(ROOT / "src"):
        raise FrozenError(
            f"{sys.executable} has Discreet from {found.parent}: run `.venv/bin/python tools/frozen_tests.py`."
        )


if __name__ == "__main__":
    sys.exit(main())

"""Which files of tests call which functions of the product, and which of them may notice a mistake in a place."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mutant_trees import ROOT, Mutant, product_files
from mutations import mutations_of, users_of
from rooms import tests_of
from scratch import environment_for, scratch_folder

MAP_FOLDER = ROOT / "build" / "mutants"
MAP = MAP_FOLDER / "map.json"


def make_map(tests: Sequence[str], jobs: int) -> int:
    """Run the fast suite, or some `tests` of it, with the plugin that notes calls, and keep what it says.

    Return 0, 1 if a test failed, whose file is then no help, or 2 if nothing was noted.
    """
    parts = MAP_FOLDER / "parts"
    shutil.rmtree(parts, ignore_errors=True)
    with scratch_folder() as folder:
        options = ["-q", "-n", str(jobs), "--dist", "loadfile", "-p", "no:cacheprovider"]
        command = [
            sys.executable,
            "-m",
            "pytest",
            *options,
            "-p",
            "testkit.called_functions",
            f"--called-functions={parts}",
            *tests,
        ]
        code = subprocess.run(command, cwd=ROOT, env=environment_for(folder), check=False).returncode
    found: dict[str, Any] = _kept() if tests else {}
    for part in sorted(parts.glob("*.json")):
        found |= json.loads(part.read_text(encoding="utf-8"))
    if not any(parts.glob("*.json")):
        print(f"pytest ended with {code} and noted nothing", file=sys.stderr)
        return 2
    MAP.write_text(json.dumps(found), encoding="utf-8")
    shutil.rmtree(parts)
    functions = {function for row in found.values() for function in row["functions"]}
    print(f"{len(found)} test files call {len(functions)} functions; pytest ended with {code}")
    return 0 if code == 0 else 1


def _kept() -> dict[str, dict[str, Any]]:
    """Return the map as it was made last; {} without one."""
    return json.loads(MAP.read_text(encoding="utf-8")) if MAP.exists() else {}


class Choosing:
    """Which test files may notice a mistake in a place, the quickest first."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._map = _kept()
        self._callers: dict[str, set[str]] = defaultdict(set)
        for test, row in self._map.items():
            if (root / test).is_file() and not row["failed"]:
                for function in row["functions"]:
                    self._callers[function].add(test)
                    self._callers[function.partition(":")[0]].add(test)

    def files(self, mutant: Mutant) -> list[str]:
        """Return the files that call the mutant's function, or one that reads the constant; else those of its room."""
        room = Path(mutant.file).name if mutant.room == "root" else mutant.room
        of_room = tests_of(room) or ["tests/unit"]
        if not self._map:
            return of_room
        scope, in_function = (mutant.scope, mutant.in_function) if mutant.scope else self._place(mutant)
        if in_function:
            found = self._callers.get(f"{mutant.file}:{scope}", set())
        else:
            found = set().union(*(self._callers[function] for function in self._readers(mutant.file, scope)))
            found = found or self._callers.get(mutant.file, set())
        if not found:  # newer than the map, or called by other processes alone
            return of_room
        return sorted(found, key=lambda test: (not test.startswith("tests/unit/"), self._cost(test), test))

    def _cost(self, test: str) -> float:
        return float(self._map[test]["seconds"]) + len(self._map[test]["functions"]) / 1000

    def _place(self, mutant: Mutant) -> tuple[str, bool]:
        """Return where a mutant made by hand is: the innermost function or assignment around its first byte."""
        source = (self._root / mutant.file).read_bytes()
        around = [each for each in mutations_of(source) if each.start < mutant.end and mutant.start < each.end]
        least = min(around, key=lambda each: each.end - each.start, default=None)
        return ("", False) if least is None else (least.scope, least.in_function)

    def _readers(self, file: str, constant: str) -> list[str]:
        """Return the functions, of those that tests call, that read a constant of `file`, in it or where it is imported."""
        if not constant:
            return []
        module = Path(file).stem
        paths = [
            path
            for path in product_files(self._root)
            if path == self._root / file or f"{module} import" in path.read_text(encoding="utf-8")
        ]
        names = users_of(constant, [ast.parse(path.read_bytes()) for path in paths])
        files = {path.relative_to(self._root).as_posix() for path in paths}
        return [
            each
            for each in self._callers
            if each.partition(":")[0] in files and each.rpartition(".")[2].rpartition(":")[2] in names
        ]

"""Print which tests belong to rooms of the product, or to what has changed since a commit, one path a line.

python tools/rooms.py checkpoint storage
python tools/rooms.py --changed [COMMIT]     against the last commit of main that is in this branch, uncommitted work included
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOP_ROOMS = ("graph", "nodes", "state", "prompts")
SUITES = ("unit", "integration")
SUITE_FOLDERS = tuple(f"tests/{suite}/" for suite in (*SUITES, "end_to_end", "in_the_wild", "migration", "packaging"))

BESIDE = {
    "background_loop.py": ["tests/unit/background", "tests/integration/storage/test_blocking_callers.py"],
    "cli": [
        "tests/integration/test_audit_command.py",
        "tests/integration/test_doctor.py",
        "tests/integration/test_extract_command.py",
        "tests/integration/test_migrate_command.py",
        "tests/integration/test_settings_command.py",
    ],
    "errors.py": ["tests/unit/api", "tests/unit/cli"],
    "leases.py": ["tests/integration/storage/users"],
    "lazy_names.py": ["tests/unit/test_imports.py"],
    "loop_bound.py": ["tests/integration/providers"],
    "metrics.py": ["tests/integration/monitoring"],
    "metrics_server.py": ["tests/integration/monitoring"],
    "named_objects.py": ["tests/unit/providers"],
    "otel.py": ["tests/integration/monitoring"],
    "outcomes.py": ["tests/unit/nodes"],
    "ports": ["tests/unit/nodes", "tests/unit/testing"],
    "private_files.py": ["tests/unit/settings"],
    "rights": ["tests/integration/exporting"],
    "row_security.py": ["tests/integration/storage/database"],
    "spans.py": ["tests/integration/monitoring"],
    "storage": ["tests/migration", "tests/integration/embedded", "tests/integration/integrity"],
}
"""Tests of a room that don't have its name."""
ALWAYS = ["tests/unit/test_imports.py"]
TESTS_OF_FOLDERS = {
    "benchmarks": ["tests/unit/benchmarks"],
    "tests/kit": ["tests/integration/test_kit.py"],
    "tools": ["tests/unit/tools"],
}
"""Tests of folders that are no rooms."""


def tests_of(room: str) -> list[str]:
    """Return the folders and files of the tests of a room: `storage`, `src/discreet/storage`, `nodes`, `settings.py`."""
    name = room.rstrip("/").rpartition("/")[2]
    stem = name.removesuffix(".py")
    named = [f"tests/{suite}/{each}" for suite in SUITES for each in (stem, f"test_{stem}.py")]
    return [path for path in dict.fromkeys([*named, *BESIDE.get(name, [])]) if (ROOT / path).exists()]


def rooms() -> list[str]:
    """Return all rooms by name, and the modules at the package's root."""
    inner = (path.name for path in (ROOT / "src/discreet").iterdir())
    return sorted([*TOP_ROOMS, *(name for name in inner if not name.startswith("__") and name != "py.typed")])


def room_of(path: str) -> str | None:
    """Return the room in which a file of the product lies."""
    parts = Path(path).parts
    if parts[0] in TOP_ROOMS:
        return parts[0]
    return parts[2] if parts[:2] == ("src", "discreet") else None


def changed_since(commit: str, root: Path = ROOT) -> list[str]:
    """Return the files that differ from a commit's, new ones too."""
    changed = _git("diff", "--name-only", "--no-renames", "-z", commit, root=root)
    return [*changed, *_git("ls-files", "--others", "--exclude-standard", "-z", root=root)]


def tests_of_changes(paths: list[str]) -> list[str]:
    """Return the tests of the rooms that files are in, test files among them, and all of a folder whose other files changed."""
    found = list(ALWAYS)
    for path in paths:
        if (room := room_of(path)) is not None:
            found += tests_of(room)
        elif top := next((each for each in TESTS_OF_FOLDERS if path.startswith(f"{each}/")), None):
            found += TESTS_OF_FOLDERS[top]
        elif path.startswith(SUITE_FOLDERS):
            found.append(path if _is_test(path) else _folder_with_tests(path))
    folders = tuple(f"{each}/" for each in found if not each.endswith(".py"))
    return [each for each in dict.fromkeys(found) if not each.startswith(folders)]


def _is_test(path: str) -> bool:
    return Path(path).match("test_*.py") and (ROOT / path).exists()


def _folder_with_tests(path: str) -> str:
    """Return the innermost folder around a file that is still there."""
    return next(str(folder) for folder in Path(path).parents if (ROOT / folder).is_dir())


def _start_of_branch() -> str:
    for main in ("origin/main", "main"):
        with suppress(subprocess.CalledProcessError):
            return _git("merge-base", "HEAD", main)[0].strip()
    sys.exit("There is no branch main to compare with. Name a commit: python tools/rooms.py --changed COMMIT")


def _git(*arguments: str, root: Path = ROOT) -> list[str]:
    """Return what git prints, parted at its zeros."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\0").split("\0") if done.stdout else []


def main() -> int:
    """Answer the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"one of {', '.join(rooms())}")
    parser.add_argument("--changed", nargs="?", const="", metavar="COMMIT", help="of what has changed since it")
    given = parser.parse_args()
    if not given.rooms and given.changed is None:
        return 0  # pytest's own choice: all
    if given.changed is not None:
        changed = changed_since(given.changed or _start_of_branch())
        print("\n".join(tests_of_changes(changed)))
        if shared := [path for path in changed if path.startswith(("tests/support/", "tests/conftest.py"))]:
            print(f"All tests use {shared[0]}: run `make test` as well.", file=sys.stderr)
        return 0
    found = list[str]()
    for room in given.rooms:
        if not tests_of(room):
            parser.error(f"There are no tests of {room!r}. Rooms with tests: {', '.join(filter(tests_of, rooms()))}")
        found += tests_of(room)
    print("\n".join(dict.fromkeys(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Build `.rooms/`, a git-ignored tree of links that shows the import package `discreet` as it is installed.

Static tools (mypy, import-linter, pyright) read folders and don't see the finder of an editable install, which maps
`state/` to `discreet.state` and so on. They are pointed at `.rooms` instead.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("state", "prompts", "nodes", "graph")


def main() -> None:
    """Add the links that are missing and remove those that point to nothing."""
    package = ROOT / ".rooms" / "discreet"
    package.mkdir(parents=True, exist_ok=True)
    sources = [*(ROOT / "src" / "discreet").iterdir(), *(ROOT / room for room in ROOMS)]
    wanted = {source.name: source for source in sources if source.name != "__pycache__"}
    for link in package.iterdir():
        if wanted.get(link.name) != link.readlink():
            link.unlink()
    for name, source in wanted.items():
        if not (package / name).is_symlink():
            (package / name).symlink_to(source)


if __name__ == "__main__":
    main()

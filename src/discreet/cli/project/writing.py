"""Write a project into a folder: all of it, or nothing."""

from __future__ import annotations

import re
import shutil
from importlib.resources import files
from pathlib import Path
from secrets import token_hex

from discreet.cli.project.naming import ProjectName
from discreet.encryption import make_key, write_key
from discreet.errors import ProjectFolderError
from discreet.private_files import replace_private
from discreet.redaction.key_file import make_key_text

CALLED = {
    "gitignore": ".gitignore",
    "env.example": ".env.example",
    "github": ".github",
    "project.toml": "pyproject.toml",
}
"""What is called otherwise in a project than in the template, where tools would take it for their own."""

WELCOME = frozenset({".git", ".venv", "venv", ".idea", ".vscode"})
"""What may be there before."""


def write_project(folder: Path, name: ProjectName, requirement: str) -> None:
    """Write the template under `name` into `folder`, which is made if it is missing.

    Raises:
        ProjectFolderError: Something is there already, or the folder can't be written. Nothing is left of the attempt.
    """
    try:
        there = folder.exists()
        if (found := occupant(folder)) is not None:
            raise ProjectFolderError(folder, f"has files in it already, such as {found}")
        folder.mkdir(parents=True, exist_ok=True)
        try:
            _fill(folder, name, requirement)
        except BaseException:  # Ctrl-C too
            if not there:
                shutil.rmtree(folder)
            raise
    except OSError as error:
        raise ProjectFolderError(folder, f"can't be written ({error.strerror})") from error


def occupant(folder: Path) -> str | None:
    """Return the name of something that is in a folder and has no place in a new project; None if nothing is."""
    return max({each.name for each in folder.iterdir()} - WELCOME, default=None) if folder.exists() else None


def _fill(folder: Path, name: ProjectName, requirement: str) -> None:
    new = folder / f".new-{token_hex(4)}"
    moved: list[Path] = []
    try:
        _copy(new, name, requirement)
        moved.extend(each.rename(folder / each.name) for each in sorted(new.iterdir()))
        new.rmdir()
    except BaseException:  # as above
        shutil.rmtree(new, ignore_errors=True)
        for each in moved:
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        raise


def _copy(folder: Path, name: ProjectName, requirement: str) -> None:
    """Make `folder` with the files of the template, and a `.env` with keys of its own, for this user alone."""
    template = Path(str(files("discreet.cli.project"))) / "template"
    folder.mkdir()
    for source in sorted(template.rglob("*")):
        parts = source.relative_to(template).parts
        if "__pycache__" in parts:
            continue
        target = folder.joinpath(CALLED.get(parts[0], _renamed(parts[0], name)), *parts[1:])
        if source.is_dir():
            target.mkdir()
        else:
            text = source.read_text(encoding="utf-8").replace("discreet-requirement", requirement)
            target.write_text(_renamed(text, name), encoding="utf-8")
    made = {
        "DISCREET_ENCRYPTION_KEYS": write_key(make_key()),
        "DISCREET_IDENTITY_KEY": make_key_text(),
        "DISCREET_PLACEHOLDER_KEY": make_key_text(),
    }
    example = (folder / ".env.example").read_text(encoding="utf-8")
    filled = re.sub(r"^(\w+)=$", lambda line: f"{line[0]}{made[line[1]]}", example, flags=re.MULTILINE)
    replace_private(folder / ".env", filled.replace("# Copy to .env. Everything", "# Everything").encode())


def _renamed(text: str, name: ProjectName) -> str:
    return text.replace("your-assistant", name.project).replace("your_assistant", name.package)

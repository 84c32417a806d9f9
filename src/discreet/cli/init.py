"""`discreet init`: start a project of one's own."""

from __future__ import annotations

import shlex
from pathlib import Path

from discreet.cli.project.naming import project_name
from discreet.cli.project.requirement import is_of_this_machine, requirement
from discreet.cli.project.writing import write_project


def run_init(folder: Path) -> None:
    """Write a project into `folder`, and say what to do next.

    Raises:
        ProjectFolderError: Something is there already, or the folder can't be written.
    """
    start_project(folder)
    lines = [
        "make install    # a .venv of its own",
        "make test       # offline",
        "make dev        # the server and the Studio",
    ]
    if folder.resolve() != Path.cwd():
        lines.insert(0, f"cd {shlex.quote(str(folder))}")
    print("Next:", *lines, sep="\n  ")


def start_project(folder: Path) -> None:
    """Write a project into `folder`, and say what it is called.

    Raises:
        ProjectFolderError: Something is there already, or the folder can't be written.
    """
    required, name = requirement(), project_name(folder.resolve().name)
    write_project(folder, name, required)
    print(f"{name.project} is in {folder.resolve()}: begin with {name.package}/graph.py.")
    if is_of_this_machine(required):
        print(
            "It takes Discreet from where this one is. For other machines, as of CI, change that line of pyproject.toml."
        )

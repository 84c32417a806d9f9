"""The day through `TurnRunner`, in a process whose output can be searched."""

from __future__ import annotations

import json
import time
from pathlib import Path

from testkit.scripts import run_script

from scripted_day.model import DayModel
from scripted_day.play import House, Played, environment_of

PROCESS = Path(__file__).parent / "runner_process.py"


def play_runner(model: DayModel, house: House, folder: Path) -> Played:
    """Play the day with a database of its own in `folder`."""
    written = folder / "answers.json"
    began = time.monotonic()
    ended = run_script(
        PROCESS, written, environment={**house.environment, **environment_of(model)}, cwd=folder, timeout=400
    )
    seconds = time.monotonic() - began
    output = [ended.stdout, ended.stderr, *([f"ERROR: exit code {ended.returncode}"] if ended.returncode else [])]
    answers = json.loads(written.read_text()) if written.exists() else {}
    return Played(
        day=model.day,
        model=model,
        answers={int(number): text for number, text in answers.items()},
        output="\n".join(output),
        folder=folder,
        seconds=seconds,
    )

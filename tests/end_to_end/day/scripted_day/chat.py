"""The day through `discreet chat`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from testkit.scripts import run_script

from scripted_day.model import DayModel
from scripted_day.play import House, Played, environment_of
from scripted_day.script import Day, Turn

PROMPT = "you ›"
NEW = "/new"
AT_ONCE = 3
"""People who chat at the same time."""


@dataclass(frozen=True)
class _Visit:
    """One start of the command: turns in the thread that it names, and in new ones."""

    thread: str
    lines: list[Turn | None]
    """None: a new conversation begins."""


def play_chat(day: Day, model: DayModel | None, house: House, folder: Path) -> Played:
    """Type all that is no recording; nobody types the next line before the last one is answered."""
    day = day.without_voice()
    settings = {**house.environment, **environment_of(model), "COLUMNS": "200"}
    answers: dict[int, str] = {}
    output: list[str] = []

    def chat(who: str) -> None:
        for visit in _visits(day.of(who)):
            typed = [turn.said if turn else NEW for turn in visit.lines]
            arguments = ("chat", "--user", who, "--thread", visit.thread)
            ended = run_script(
                Path(house.command),
                *arguments,
                input="\n".join([*typed, ""]),
                environment=settings,
                cwd=folder,
                timeout=300,
            )
            begin, *shown = ended.stdout.split(PROMPT)
            output.extend(
                [begin, ended.stderr, "" if ended.returncode == 0 else f"ERROR: exit code {ended.returncode}"]
            )
            for turn, text in zip(visit.lines, shown, strict=False):
                if turn:
                    answers[turn.number] = text

    began = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(chat, day.people))
    seconds = time.monotonic() - began
    return Played(day=day, model=model, answers=answers, output="\n".join(output), folder=folder, seconds=seconds)


def _visits(turns: list[Turn]) -> Iterator[_Visit]:
    """Yield starts of the command, as few as can be: only a thread that is visited again needs a name."""
    visits = [(thread, list(said)) for thread, said in groupby(turns, key=lambda turn: turn.thread)]
    threads = [thread for thread, _ in visits]
    running: _Visit | None = None
    for thread, said in visits:
        if running and threads.count(thread) == 1:
            running.lines.extend([None, *said])
        else:
            if running:
                yield running
            running = _Visit(thread, list(said))
    if running:
        yield running

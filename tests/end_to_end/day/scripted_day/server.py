"""The day through a server as `make dev` starts it, by LangGraph's SDK."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from testkit.clients import local_sdk
from testkit.ports import free_port

from discreet.access.development import token_for
from discreet.settings import Settings
from scripted_day.model import DayModel
from scripted_day.play import House, Played, content_of, environment_of
from scripted_day.script import Day

BUILDER = "build_graph(process_storage"


def give_tool(folder: Path) -> None:
    """Give the template's graph the tool of the day, as its user would."""
    wiring = folder / "graph" / "server.py"
    text = wiring.read_text()
    assert text.count(BUILDER) == 1
    text = text.replace(BUILDER, f"{BUILDER}, tools=[look_up]")
    place = f"import sys\nsys.path.insert(0, {str(folder)!r})\nfrom scripted_day.look_up import look_up\n"
    wiring.write_text(text.replace("from discreet.checkpoint", f"{place}from discreet.checkpoint", 1))
    shutil.copytree(Path(__file__).parent, folder / "scripted_day", ignore=shutil.ignore_patterns("__pycache__"))


def play_server(model: DayModel, house: House, folder: Path) -> Played:
    """Start the server in `folder`, let all people talk at the same time, and stop it."""
    give_tool(house.make_project(folder))
    port = free_port()
    url, log = f"http://127.0.0.1:{port}", folder / "server.log"
    began = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [house.command, "dev", "--port", str(port)],
            cwd=folder,
            env={**house.environment, **environment_of(model)},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        house.wait_until_ready(process, url, log)
        answers, failures = asyncio.run(_talk_all(model.day, url, folder / ".discreet"))
    finally:
        process.terminate()
        code = process.wait(60)
    seconds = time.monotonic() - began
    output = [log.read_text(), *failures, *([f"ERROR: exit code {code}"] if code else [])]
    return Played(day=model.day, model=model, answers=answers, output="\n".join(output), folder=folder, seconds=seconds)


async def _talk_all(day: Day, url: str, data_dir: Path) -> tuple[dict[int, str], list[str]]:
    settings = Settings(_env_file=None, data_dir=data_dir)
    answers: dict[int, str] = {}
    failures: list[str] = []

    async def talk(who: str) -> None:
        headers = {"authorization": f"Bearer {token_for(settings, who)}"}
        threads: dict[str, str] = {}
        async with local_sdk(url, headers) as client:
            for turn in day.of(who):
                if turn.thread not in threads:
                    threads[turn.thread] = (await client.threads.create())["thread_id"]
                said: Any = {"messages": [{"role": "user", "content": content_of(turn)}]}
                try:
                    state: Any = await client.runs.wait(threads[turn.thread], "agent", input=said)
                    answers[turn.number] = str(state["messages"][-1]["content"])
                except Exception as error:  # noqa: BLE001  # whatever fails is found there, and the day goes on
                    failures.append(f"ERROR: turn {turn.number}: {error!r}")

    await asyncio.gather(*(talk(who) for who in day.people))
    return answers, failures

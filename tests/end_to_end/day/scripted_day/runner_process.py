"""The process that plays the day through `TurnRunner`, in its working directory; `turn_runner.py` starts it."""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from pathlib import Path
from typing import Any

from discreet.checkpoint import RedactingSaver
from discreet.graph import TurnRunner, build_graph
from discreet.state.context import Context
from discreet.storage import open_storage

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripted_day.look_up import look_up
from scripted_day.play import content_of
from scripted_day.script import read_day


async def main(answers: dict[int, str]) -> None:
    """Let all people talk at the same time; each waits for an answer before they say the next thing."""
    day = read_day()
    async with open_storage() as storage:
        saver = RedactingSaver.from_storage(storage)
        await saver.setup()
        graph = build_graph(storage, tools=[look_up]).compile(checkpointer=saver)
        runner = TurnRunner(graph, short_term=storage.short_term)

        async def talk(who: str) -> None:
            for turn in day.of(who):
                message = {"messages": [{"role": "user", "content": content_of(turn)}]}
                thread: Any = {"configurable": {"thread_id": turn.thread}}
                try:
                    state = await runner.ainvoke(message, thread, context=Context(user_id=who))
                    answers[turn.number] = str(state["messages"][-1].text)
                except Exception:  # noqa: BLE001  # whatever fails is written out and found there, and the day goes on
                    traceback.print_exc()

        await asyncio.gather(*(talk(who) for who in day.people))
        await runner.aclose()


if __name__ == "__main__":
    said: dict[int, str] = {}
    asyncio.run(main(said))
    Path(sys.argv[1]).write_text(json.dumps(said))

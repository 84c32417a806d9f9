"""Run the program that docs/coming_from/openai_agents.md begins with, once a text, and fill sessions in PostgreSQL. Runs where the SDK is installed."""

import asyncio
import json
import os
import runpy
import sys
from contextlib import asynccontextmanager

from agents import Agent, SQLiteSession, set_default_openai_api
from agents.extensions.memory import SQLAlchemySession


async def main(program: str, folder: str, url: str, odd_id: str, *texts: str) -> None:
    os.chdir(folder)
    set_default_openai_api("chat_completions")
    page = asynccontextmanager(runpy.run_path(program)["page"])
    answers = []
    for text in texts:
        async with page(agent=Agent(name="helper", model="scripted"), text=text) as names:
            answers.append(names["result"].final_output)
            names["session"].close()
        await asyncio.sleep(1.1)  # the times in the file are whole seconds
    odd = SQLiteSession(odd_id, "conversations.db")
    await odd.add_items([{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}])
    odd.close()
    session = SQLAlchemySession.from_url("ann:2", url=url, create_tables=True)
    await session.add_items([{"role": "user", "content": texts[0]}, {"role": "assistant", "content": answers[0]}])
    print(json.dumps(answers))


asyncio.run(main(*sys.argv[1:]))

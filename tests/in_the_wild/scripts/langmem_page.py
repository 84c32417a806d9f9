"""Run the program that docs/coming_from/langmem.md begins with, once a text; print the items that its store then has. Runs where langmem is installed."""

import asyncio
import json
import runpy
import sys
from contextlib import asynccontextmanager

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.store.postgres.aio import AsyncPostgresStore


async def main(program: str, dsn: str, *texts: str) -> None:
    page = asynccontextmanager(runpy.run_path(program)["page"])
    async with AsyncPostgresStore.from_conn_string(dsn) as store:
        await store.setup()
        for text in texts:
            given = {"messages": [{"role": "user", "content": text}]}
            async with page(create_agent=create_agent, model=ChatOpenAI(model="scripted"), store=store, given=given):
                pass
        print(json.dumps([item.dict() for item in await store.asearch((), limit=100)]))


asyncio.run(main(*sys.argv[1:]))

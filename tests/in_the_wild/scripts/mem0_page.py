"""Run the program that docs/coming_from/mem0.md begins with, add more, and print what get_all() returns as the page saves it. Runs where mem0 is installed."""

import asyncio
import json
import runpy
import sys
from contextlib import asynccontextmanager
from io import StringIO


async def main(program: str, config: str, dump: str, *texts: str) -> None:
    page = asynccontextmanager(runpy.run_path(program)["page"])
    async with page(config=json.loads(config)) as names:
        memory = names["memory"]
        for text in texts:
            memory.add(text, user_id="ann", infer=False)
        file = StringIO()
        exec(dump, {"json": json, "memory": memory, "file": file})
        print(file.getvalue())


asyncio.run(main(*sys.argv[1:]))

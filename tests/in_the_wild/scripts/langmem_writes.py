"""Have langmem write memories into a store in PostgreSQL, and print the items that the store then has. Runs where langmem is installed."""

import asyncio
import json
import sys

from langgraph.store.postgres.aio import AsyncPostgresStore
from langmem import create_manage_memory_tool, create_memory_store_manager
from pydantic import BaseModel

NAMESPACE = ("memories", "{langgraph_user_id}")


class Profile(BaseModel):
    """What is known of the user."""

    name: str
    languages: list[str] = []
    age: int | None = None


async def main(dsn: str) -> None:
    async with AsyncPostgresStore.from_conn_string(dsn) as store:
        await store.setup()
        tool = create_manage_memory_tool(NAMESPACE, store=store)
        profiles = create_manage_memory_tool(NAMESPACE, store=store, schema=Profile, name="profile")
        for user in ("alice", "bob"):
            config = {"configurable": {"langgraph_user_id": user}}
            said = await tool.ainvoke({"content": f"{user} keeps bees 🐝"}, config)
            await tool.ainvoke({"content": f"{user} sings"}, config)
            await tool.ainvoke(
                {"content": f"{user} kept bees until May", "action": "update", "id": said.split()[-1]}, config
            )
            await profiles.ainvoke({"content": {"name": user, "languages": ["vi", "en"]}}, config)
            # Its model answers as the test has it written down.
            manager = create_memory_store_manager(
                "openai:scripted", namespace=NAMESPACE, store=store, default=None, query_limit=1
            )
            await manager.ainvoke({"messages": [{"role": "user", "content": "I moved to Hue."}]}, config)
        items = [item.dict() for item in await store.asearch((), limit=100)]
    print(json.dumps(items))


asyncio.run(main(sys.argv[1]))

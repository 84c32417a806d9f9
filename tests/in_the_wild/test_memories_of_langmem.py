"""What langmem itself has written is read as it says that it has it."""

import json
from datetime import datetime
from pathlib import Path
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage
from testkit.environments import python_with, run_script

from discreet.importing.sources.langmem import open_langmem
from discreet.testing.openai_server import openai_server

SCRIPT = Path(__file__).with_name("scripts") / "langmem_writes.py"
PACKAGES = ("langmem==0.0.30", "langgraph-checkpoint-postgres", "psycopg[binary]")

pytestmark = pytest.mark.slow  # fetches packages


def written(dsn):
    call = {"name": "Memory", "args": {"content": "Moved to Hue"}, "id": "call-1", "type": "tool_call"}
    with openai_server([AIMessage("", tool_calls=[call])] * 2) as server:
        printed = run_script(
            python_with(*PACKAGES), SCRIPT, dsn, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="none"
        )
    return json.loads(printed)


async def test_memories_of_tools_and_managers_are_read(empty_database):
    items = {item["key"]: item for item in written(empty_database)}
    async with open_langmem(empty_database) as source:
        assert await source.count() == len(items)
        rows = [row async for row in source.rows()]
    assert len(rows) == len(items) == 8
    for row in rows:
        item = items[str(row.record.entry_id)]
        assert row.user_id == item["namespace"][1]
        assert row.record.entry_id == UUID(item["key"])
        assert row.record.created_at == datetime.fromisoformat(item["created_at"])
        assert (row.record.valid_from or row.record.created_at) == datetime.fromisoformat(item["updated_at"])
        content = item["value"]["content"]
        if isinstance(content, str):
            assert row.record.text == content
        elif "kind" in item["value"]:
            assert row.record.text == content["content"] == "Moved to Hue"
        else:
            assert row.record.text == f"name: {content['name']}\nlanguages: vi, en"
    assert {row.record.text for row in rows if row.user_id == "bob"} == {
        "bob kept bees until May",
        "bob sings",
        "name: bob\nlanguages: vi, en",
        "Moved to Hue",
    }

"""docs/coming_from/langmem.md, and all that langmem writes, is read as it says that it has it."""

import json
from datetime import datetime
from pathlib import Path
from uuid import UUID

import pytest
from kit.places import snapshot
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from testkit.coming_from import EMAIL, PHONE, Page, raw_in, redacted
from testkit.environments import python_with, run_script

from discreet.importing.sources.langmem import open_langmem
from discreet.storage import open_storage
from discreet.testing import ScriptedChatModel
from discreet.testing.openai_server import openai_server

SCRIPTS = Path(__file__).parents[1] / "scripts"
PAGE = Page("langmem.md")
PACKAGES = ("langmem==0.0.30", "langgraph-checkpoint-postgres", "psycopg[binary]")

pytestmark = pytest.mark.slow  # fetches packages


def written(dsn):
    call = {"name": "Memory", "args": {"content": "Moved to Hue"}, "id": "call-1", "type": "tool_call"}
    with openai_server([AIMessage("", tool_calls=[call])] * 2) as server:
        printed = run_script(
            python_with(*PACKAGES),
            SCRIPTS / "langmem_writes.py",
            dsn,
            OPENAI_BASE_URL=server.base_url,
            OPENAI_API_KEY="none",
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


@pytest.mark.slow
async def test_the_page_from_its_first_command_to_its_last(empty_database, database, terminal):
    facts = ["Keeps two African Grey parrots", f"Is reached at {EMAIL} or {PHONE}"]
    answers = [
        answer
        for number, fact in enumerate(facts)
        for call in [{"name": "manage_memory", "args": {"content": fact}, "id": f"c{number}", "type": "tool_call"}]
        for answer in (AIMessage("", tool_calls=[call]), AIMessage("Noted."))
    ]
    program = terminal.folder / "before.py"
    program.write_text(PAGE.source("before", "create_agent", "model", "store", "given"), encoding="utf-8")
    with openai_server(answers) as server:
        printed = run_script(
            python_with(*PACKAGES), SCRIPTS / "langmem_page.py", str(program), empty_database, *facts,
            OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="none",
        )  # fmt: skip
    items = {UUID(item["key"]): item for item in json.loads(printed)}
    assert {item["value"]["content"] for item in items.values()} == set(facts)
    stored = snapshot(empty_database, written=True)

    scan, dry_run, import_ = PAGE.commands(**{"postgresql://app@db/old": empty_database})
    assert "EMAIL" in terminal.run(*scan)
    assert "2 rows of 1 users read, nothing stored (" in terminal.run(*dry_run)
    assert "2 rows of 1 users settled (" in terminal.run(*import_)
    assert snapshot(empty_database, written=True) == stored

    model = ScriptedChatModel(responses=[AIMessage("Two parrots.")])
    async with open_storage() as storage:
        memories = {each.entry_id: each for each in await storage.memories.latest("ann")}
        assert {key: each.text for key, each in memories.items()} == {
            key: redacted(item["value"]["content"]) for key, item in items.items()
        }
        for key, each in memories.items():
            assert each.created_at == datetime.fromisoformat(items[key]["created_at"])
        given = {"messages": [("user", "Which birds do I keep?")]}
        async with PAGE.program("after", create_agent=create_agent, model=model, storage=storage, given=given):
            pass
    assert facts[0] in model.prompts[0][0].text
    assert raw_in(database) == []
    assert "2 rows of 1 users settled (" in terminal.run(*("store" if word == "langmem" else word for word in import_))

"""docs/coming_from/openai_agents.md, and what sessions of the SDK have stored is read as they return it, without tools."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from testkit.coming_from import EMAIL, PHONE, Page, raw_in, redacted
from testkit.environments import python_with, run_script

from discreet.checkpoint import RedactingSaver
from discreet.importing.sources.agents_sdk import open_agents_sdk
from discreet.storage import open_storage
from discreet.testing.openai_server import openai_server

SCRIPTS = Path(__file__).parents[1] / "scripts"
PAGE = Page("openai_agents.md")
PACKAGES = ("openai-agents==0.24.0", "sqlalchemy[asyncio]>=2", "psycopg[binary]")

pytestmark = pytest.mark.slow  # fetches packages


async def test_turns_are_read_from_a_file_and_from_postgresql(empty_database, tmp_path):
    path = tmp_path / "sessions.db"
    url = empty_database.replace("postgresql://", "postgresql+psycopg://")
    printed = run_script(
        python_with(*PACKAGES), SCRIPTS / "agents_sdk_writes.py", str(path), url, OPENAI_AGENTS_DISABLE_TRACING="1"
    )
    returned = json.loads(printed)
    for location in (str(path), url):
        async with open_agents_sdk(location, user_from="{user_id}:*") as source:
            rows = [row async for row in source.rows()]
        assert [(row.user_id, row.record.thread_id, row.record.input_text, row.record.output_text) for row in rows] == [
            turn
            for session, items in returned.items()
            for user in [session.partition(":")[0]]
            for turn in [
                (user, session, items[0]["content"], items[3]["content"][0]["text"]),
                (user, session, items[4]["content"][0]["text"], items[5]["content"]),
            ]
        ]
        for row in rows:
            assert timedelta() <= datetime.now(UTC) - row.record.started_at < timedelta(minutes=5)
            assert row.record.started_at <= row.record.ended_at


@pytest.mark.slow
async def test_the_page_from_its_first_command_to_its_last(empty_database, database, terminal, chat):
    texts = [f"I keep two African Grey parrots, write to {EMAIL}", f"Or call {PHONE}"]
    program = terminal.folder / "before.py"
    program.write_text(PAGE.source("before", "agent", "text"), encoding="utf-8")
    url = empty_database.replace("postgresql://", "postgresql+psycopg://")
    with openai_server([AIMessage(f"I write to {EMAIL}."), AIMessage("Fine.")]) as server:
        run_script(
            python_with(*PACKAGES), SCRIPTS / "agents_sdk_page.py", str(program), str(terminal.folder), url, f"{EMAIL}:1",
            *texts, OPENAI_AGENTS_DISABLE_TRACING="1", OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="none",
        )  # fmt: skip
    file = terminal.folder / "conversations.db"
    was = file.read_bytes()

    asyncpg = empty_database.replace("postgresql://", "postgresql+asyncpg://")
    commands = PAGE.commands(**{"postgresql+asyncpg://app@db/agents": asyncpg})
    scan, dry_run, import_, import_tables = commands
    assert "EMAIL" in terminal.run(*scan)
    assert "3 rows of 2 users" in terminal.run(*dry_run, code=1)
    said = terminal.run(*import_, code=1)
    assert "Bad: 1 rows." in said, "an address in the id of a session"
    assert "1 rows of 1 users settled (" in terminal.run(*import_tables)
    assert file.read_bytes() == was

    async with open_storage() as storage:
        turns = await storage.log.read("ann", thread_id="ann:1")
        assert [(turn.input_text, turn.output_text) for turn in turns] == [
            (redacted(texts[0]), redacted(f"I write to {EMAIL}.")),
            (redacted(texts[1]), "Fine."),
        ]
        assert [turn.input_text for turn in await storage.log.read("ann", thread_id="ann:2")] == [redacted(texts[0])]
        saver = RedactingSaver.from_pool(storage.pool)
        await saver.setup()
        chat.answers.append(AIMessage("Two parrots."))
        async with PAGE.program("after", storage=storage, saver=saver, text="Which birds do I keep?") as names:
            assert names["result"]["messages"][-1].text == "Two parrots."
    assert raw_in(database) == []
    (extract,) = re.findall(r"`discreet (extract --user ann)`", PAGE.text)
    terminal.environment["DISCREET_EXTRACTION_PROVIDER"] = "offline"
    assert "I keep two African Grey parrots" in terminal.run(*extract.split())

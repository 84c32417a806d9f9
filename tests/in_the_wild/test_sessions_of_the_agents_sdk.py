"""What sessions of OpenAI's Agents SDK have stored is read as they return it, without tools."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from testkit.environments import python_with, run_script

from discreet.importing.sources.agents_sdk import open_agents_sdk

SCRIPT = Path(__file__).with_name("scripts") / "agents_sdk_writes.py"
PACKAGES = ("openai-agents==0.24.0", "sqlalchemy[asyncio]>=2", "psycopg[binary]")

pytestmark = pytest.mark.slow  # fetches packages


async def test_turns_are_read_from_a_file_and_from_postgresql(empty_database, tmp_path):
    path = tmp_path / "sessions.db"
    url = empty_database.replace("postgresql://", "postgresql+psycopg://")
    returned = json.loads(run_script(python_with(*PACKAGES), SCRIPT, str(path), url, OPENAI_AGENTS_DISABLE_TRACING="1"))
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

"""What mem0 itself has written is read as its get_all() returns it, from its table and from a file with that."""

import json
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage
from testkit.environments import python_with, run_script

from discreet.importing.sources.mem0 import open_mem0
from discreet.testing import StubEmbeddings
from discreet.testing.openai_server import openai_server

SCRIPT = Path(__file__).with_name("scripts") / "mem0_writes.py"
PACKAGES = ("mem0ai==2.2.1", "psycopg[binary,pool]")

pytestmark = pytest.mark.slow  # fetches packages


@pytest.fixture
def printed(empty_database, tmp_path):
    learnt = AIMessage(json.dumps({"memory": [{"id": "0", "text": "Moved to Hue", "attributed_to": "user"}]}))
    with openai_server([learnt] * 2) as server:
        return run_script(
            python_with(*PACKAGES),
            SCRIPT,
            empty_database,
            str(tmp_path),
            server.base_url,
            str(StubEmbeddings().dims),
            OPENAI_API_KEY="none",
            MEM0_TELEMETRY="false",
            MEM0_DIR=str(tmp_path),
        )


async def test_memories_are_read_from_the_table_and_from_a_file(empty_database, tmp_path, printed):
    results = {item["id"]: item for item in json.loads(printed)["results"]}
    (tmp_path / "export.json").write_text(printed)
    async with open_mem0(empty_database) as source:
        assert await source.count() == len(results)
        rows = [row async for row in source.rows()]
    async with open_mem0(str(tmp_path / "export.json")) as source:
        assert await source.count() == len(results)
        from_file = [row async for row in source.rows()]
    assert len(rows) == len(results) == 10
    assert {row.record.entry_id: (row.user_id, row.record) for row in rows} == {
        row.record.entry_id: (row.user_id, row.record) for row in from_file
    }
    for row in rows:
        item = results[str(row.record.entry_id)]
        assert row.record.entry_id == UUID(item["id"])
        assert row.user_id == item["user_id"]
        assert row.record.text == item["memory"]
        assert row.record.created_at == datetime.fromisoformat(item["created_at"])
        assert (row.record.valid_from or row.record.created_at) == datetime.fromisoformat(item["updated_at"])
        assert (row.record.agent_id, row.record.thread_id) == (item.get("agent_id"), item.get("run_id"))
    of_alice = {row.record.text: row.record for row in rows if row.user_id == "alice"}
    assert set(of_alice) == {
        "Kept bees until May", "I sing.", "Which songs?", "Has a ticket for the fair", "Moved to Hue"
    }  # fmt: skip
    assert of_alice["Kept bees until May"].tags == ["hobbies"]
    assert of_alice["Kept bees until May"].importance == 8
    assert of_alice["Which songs?"].type == "conversation_insight"
    assert of_alice["I sing."].type == "user_fact"
    assert of_alice["Has a ticket for the fair"].valid_to == datetime(2999, 12, 31, tzinfo=UTC)

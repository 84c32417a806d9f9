"""docs/coming_from/mem0.md, and what mem0 writes is read as get_all() returns it, from its table and from a file with that."""

import json
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from kit.places import snapshot
from langchain_core.messages import AIMessage
from testkit.coming_from import EMAIL, PHONE, Page, raw_in, redacted
from testkit.environments import python_with, run_script

from discreet.importing.sources.mem0 import open_mem0
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings
from discreet.testing.openai_server import openai_server

SCRIPTS = Path(__file__).parents[1] / "scripts"
PAGE = Page("mem0.md")
PACKAGES = ("mem0ai==2.2.1", "psycopg[binary,pool]")

pytestmark = pytest.mark.slow  # fetches packages


@pytest.fixture
def printed(empty_database, tmp_path):
    learnt = AIMessage(json.dumps({"memory": [{"id": "0", "text": "Moved to Hue", "attributed_to": "user"}]}))
    with openai_server([learnt] * 2) as server:
        return run_script(
            python_with(*PACKAGES),
            SCRIPTS / "mem0_writes.py",
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


@pytest.mark.slow
async def test_the_page_from_its_first_command_to_its_last(empty_database, database, terminal):
    facts = ["Keeps bees", f"Is reached at {EMAIL}", f"Has the number {PHONE}"]
    program = terminal.folder / "before.py"
    program.write_text(PAGE.source("before", "config"), encoding="utf-8")
    (dump,) = [each for each in PAGE.text.split("`") if each.startswith("json.dump(")]
    with openai_server() as server:
        model = {"provider": "openai", "config": {"model": "scripted", "openai_base_url": server.base_url}}
        dims = StubEmbeddings().dims
        table = {"connection_string": empty_database, "collection_name": "mem0", "embedding_model_dims": dims}
        config = {
            "vector_store": {"provider": "pgvector", "config": table},
            "llm": model,
            "embedder": {"provider": "openai", "config": {**model["config"], "embedding_dims": dims}},
            "history_db_path": str(terminal.folder / "history.db"),
        }
        saved = run_script(
            python_with(*PACKAGES), SCRIPTS / "mem0_page.py", str(program), json.dumps(config), dump,
            *facts[1:], OPENAI_API_KEY="none", MEM0_TELEMETRY="false", MEM0_DIR=str(terminal.folder),
        )  # fmt: skip
    (terminal.folder / "export.json").write_text(saved, encoding="utf-8")
    items = {UUID(item["id"]): item for item in json.loads(saved)["results"]}
    assert sorted(item["memory"] for item in items.values()) == sorted(facts)
    stored = snapshot(empty_database, written=True)

    scan, dry_run, import_, import_file = PAGE.commands(**{"postgresql://app@db/old": empty_database})
    assert "EMAIL" in terminal.run(*scan)
    assert "3 rows of 1 users read, nothing stored (" in terminal.run(*dry_run)
    assert "3 rows of 1 users settled (" in terminal.run(*import_)
    said = terminal.run(*import_file)
    assert [int(each) for each in said.splitlines()[1].split()[-2:]] == [0, 3], "a second import finds what is there"
    assert snapshot(empty_database, written=True) == stored

    async with open_storage() as storage:
        memories = {each.entry_id: each for each in await storage.memories.latest("ann")}
        assert {key: each.text for key, each in memories.items()} == {
            key: redacted(item["memory"]) for key, item in items.items()
        }
        assert {key: each.created_at for key, each in memories.items()} == {
            key: datetime.fromisoformat(item["created_at"]) for key, item in items.items()
        }
    async with PAGE.program("after") as names:
        assert names["found"][0].record.text == "Keeps bees"
    assert raw_in(database) == []

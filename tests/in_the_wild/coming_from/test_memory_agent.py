"""docs/coming_from/memory_agent.md: what the template has stored is recalled by our graph."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from datetime import datetime
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from kit.places import snapshot
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.postgres import AsyncPostgresStore
from testkit.coming_from import EMAIL, PHONE, Page, raw_in, redacted
from testkit.planting.dev import plant_dev

from discreet.checkpoint import RedactingSaver
from discreet.storage import open_storage

PAGE = Page("memory_agent.md")
CITIES = ["Hue", "Taipei", "Lyon", "Kazan", "Leeds", "Bremen", "Osaka", "Busan", "Hanoi", "Porto", "Utrecht", "Sofia"]
FACTS = [
    ("Keeps two African Grey parrots", "Said when asked about pets"),
    (f"Is reached at {EMAIL}", f"Or by {PHONE}"),
    *((f"Has been to {city}", "") for city in CITIES),
]


@dataclass
class Context:
    user_id: str


async def remember(state: MessagesState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Look for memories and store one, where and as the template does."""
    content, context = json.loads(state["messages"][-1].text)
    place = ("memories", runtime.context.user_id)
    await runtime.store.asearch(place, query=content, limit=10)
    await runtime.store.aput(
        place, str(UUID(int=FACTS.index((content, context)))), {"content": content, "context": context}
    )
    return {"messages": [AIMessage("Noted.")]}


@pytest.fixture
async def filled(empty_database, monkeypatch):
    """Have the template, as far as its store goes, fill a database by the page's old program; return what is in it."""
    builder = StateGraph(MessagesState, context_schema=Context)
    builder.add_node("remember", remember)
    builder.add_edge(START, "remember")
    async with AsyncPostgresStore.from_conn_string(empty_database) as store:
        await store.setup()
        for name, value in (
            ("", None),
            (".context", ("Context", Context)),
            (".graph", ("graph", builder.compile(store=store))),
        ):
            module = ModuleType(f"memory_agent{name}")
            if value:
                setattr(module, *value)
            monkeypatch.setitem(sys.modules, module.__name__, module)
        for fact in FACTS:
            async with PAGE.program("before", text=json.dumps(fact)):
                pass
        return {UUID(item.key): item for item in await store.asearch(("memories", "ann"), limit=100)}


@pytest.mark.slow
async def test_the_page_from_its_first_command_to_its_last(empty_database, database, filled, terminal, chat):
    stored = snapshot(empty_database, written=True)
    plant_dev(terminal.folder, 1, seed=1)
    scan, scan_files, dry_run, import_ = PAGE.commands(**{"postgresql://app@db/langgraph": empty_database})
    assert "EMAIL" in terminal.run(*scan)
    assert "sensitive values" in terminal.run(*scan_files)
    assert f"{len(FACTS)} rows of 1 users read, nothing stored (" in terminal.run(*dry_run)
    assert f"{len(FACTS)} rows of 1 users settled (" in terminal.run(*import_)
    assert snapshot(empty_database, written=True) == stored
    assert raw_in(database) == []

    chat.answers.append(AIMessage("You keep parrots."))
    for text in (FACTS[-1][0], FACTS[0][0]):
        chat.answers.append(AIMessage("", tool_calls=[{"name": "save_memory", "args": {"text": text}, "id": "c1"}]))
        chat.answers.append(AIMessage("I know."))
    async with open_storage() as storage:
        saver = RedactingSaver.from_pool(storage.pool)
        await saver.setup()
        memories = {each.entry_id: each for each in await storage.memories.latest("ann", limit=100)}
        assert memories.keys() == filled.keys()
        for entry_id, item in filled.items():
            said = item.value["content"] + (f"\ncontext: {item.value['context']}" if item.value["context"] else "")
            assert memories[entry_id].text == redacted(said)
            assert memories[entry_id].created_at == datetime.fromisoformat(str(item.created_at))

        async with PAGE.program("after", storage=storage, saver=saver, text="Which parrots do I keep?"):
            system = chat.requests[-1].body["messages"][0]["content"]
            assert FACTS[0][0] in system
            assert system.count("[user_fact]") < 10
        for more, (text, _) in enumerate((FACTS[-1], FACTS[0])):
            async with PAGE.program("after", storage=storage, saver=saver, text=f"I said: {text}"):
                assert len(await storage.memories.latest("ann", limit=100)) == len(FACTS) + more
    as_items = terminal.run(*("store" if word == "langmem" else word for word in import_))
    assert f"{len(FACTS)} rows of 1 users settled (" in as_items

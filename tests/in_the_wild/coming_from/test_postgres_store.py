"""docs/coming_from/postgres_store.md: the items of a store go on in ours, redacted, and stay where they were."""

from __future__ import annotations

import json
import re
import stat
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from kit.places import snapshot
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres import AsyncPostgresStore
from langgraph.store.sqlite import SqliteStore
from testkit.coming_from import EMAIL, PHONE, Page, raw_in, redacted
from typing_extensions import TypedDict

pytestmark = pytest.mark.slow

PAGE = Page("postgres_store.md")
ITEMS: dict[tuple[tuple[str, ...], str], dict[str, Any]] = {
    (("memories", "ann"), "likes"): {"text": "Likes green tea", "contact": EMAIL, "rank": 3},
    (("memories", "ann", "work"), "job"): {"text": f"Calls {PHONE} on Mondays", "tags": ["work", "phone"]},
    (("memories", "bob"), "pets"): {"text": "Keeps two grey parrots", "vet": {"mail": [EMAIL]}},
}
OF_NOBODY = (("prompts",), "style")


class Asked(TypedDict, total=False):
    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    found: list[dict[str, Any]]


def builder() -> StateGraph[Any]:
    """Return a graph that puts an item, or gets what there is."""

    async def work(state: Asked, runtime: Runtime[None]) -> dict[str, Any]:
        if "value" in state:
            await runtime.store.aput(state["namespace"], state["key"], state["value"])
            return {"found": []}
        item = await runtime.store.aget(state["namespace"], state["key"])
        return {"found": [item.value] if item else []}

    graph = StateGraph(Asked)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    return graph


def shown(value: Any) -> Any:
    """Return a value as it is stored."""
    if isinstance(value, dict):
        return {name: shown(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shown(each) for each in value]
    return redacted(value) if isinstance(value, str) else value


@pytest.fixture
async def old(empty_database):
    """Return the DSN of a store that the page's old program has filled, and the items in it."""
    async with PAGE.program("before", dsn=empty_database, builder=builder()) as names:
        assert type(names["store"]) is AsyncPostgresStore
        for (namespace, key), value in (ITEMS | {OF_NOBODY: {"text": "Be brief."}}).items():
            await names["graph"].ainvoke({"namespace": namespace, "key": key, "value": value})
        await names["store"].aput(("memories", "ann"), "soon", {"text": "Is in Hue"}, ttl=600)
        await names["store"].aput(("memories", "ann"), "over", {"text": "Was in Hue"}, ttl=600)
        items = {(item.namespace, item.key): item for item in await names["store"].asearch(("memories",), limit=100)}
    with psycopg.connect(empty_database) as connection:
        connection.execute("UPDATE store SET expires_at = now() - interval '1 minute' WHERE key = 'over'")
    return empty_database, items


async def test_the_page_from_its_first_command_to_its_last(old, database, terminal):
    dsn, items = old
    stored = snapshot(dsn, written=True)
    scan, dry_run, import_ = PAGE.commands(**{"postgresql://app@db/old": dsn})
    assert "EMAIL" in terminal.run(*scan)
    said = terminal.run(*dry_run, code=1)
    assert all(part in said for part in ("Likes green tea", "<EMAIL>", "nothing stored"))
    said = terminal.run(*import_, code=1)
    assert "6 rows of 2 users settled (" in said
    assert "1 expired item (Its time to live is over.)" in said
    assert "Bad: 1 rows." in said
    (bad,) = terminal.folder.rglob("bad-rows/store-*.jsonl")
    assert stat.S_IMODE(bad.stat().st_mode) == 0o600
    assert "store item    0              4" in terminal.run(*import_, "--resume", code=1)
    assert snapshot(dsn, written=True) == stored
    assert raw_in(database) == []

    async with PAGE.program("after", dsn=database, builder=builder()) as names:
        store = names["storage"].store
        for (namespace, key), value in ITEMS.items():
            answered = await names["graph"].ainvoke({"namespace": namespace, "key": key})
            assert answered["found"] == [shown(value)]
            item, was = await store.aget(namespace, key), items[namespace, key]
            assert (item.created_at, item.updated_at) == (was.created_at, was.updated_at)
        assert await store.aget(("memories", "ann"), "over") is None
        assert sorted(await store.alist_namespaces()) == sorted({namespace for namespace, _ in ITEMS})
        [found] = await store.asearch(("memories", "ann"), filter={"rank": 3})
        assert found.key == "likes"
        for address in (EMAIL, "bob@example.org"):
            assert [each.key for each in await store.asearch(("memories",), filter={"contact": address})] == ["likes"]
        assert (await store.asearch(("memories", "bob"), query="birds"))[0].key == "pets"
        await store.aput(("memories", "ann"), "new", {"text": "Sings"}, ttl=5, index=["text"])
        await names["graph"].ainvoke({"namespace": ("memories", "ann"), "key": "mine", "value": {"text": EMAIL}})
        assert (await store.aget(("memories", "ann"), "mine")).value == {"text": "<EMAIL>"}
    times = "SELECT ttl_minutes, expires_at FROM {} WHERE key = 'soon'"
    with psycopg.connect(dsn) as old_one, psycopg.connect(database) as new_one:
        minutes, until = old_one.execute(times.format("store")).fetchone()
        ours, goes = new_one.execute(times.format("discreet.store_item")).fetchone()
    assert ours == minutes
    assert goes - until < timedelta(minutes=1)


async def test_a_role_that_may_only_read_is_enough(old, terminal):
    dsn, _ = old
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE ROLE reads_the_store LOGIN PASSWORD 'reads'")
        connection.execute("GRANT SELECT ON store TO reads_the_store")
    try:
        reader = re.sub(r"//.*@", "//reads_the_store:reads@", dsn)
        (_, _, import_) = PAGE.commands(**{"postgresql://app@db/old": reader})
        assert "settled" in terminal.run(*import_, "--user", "ann")
    finally:
        with psycopg.connect(dsn) as connection:
            connection.execute("DROP OWNED BY reads_the_store; DROP ROLE reads_the_store")


async def test_files_are_read_as_the_page_makes_them(database, terminal):
    (line,) = [each for each in PAGE.text.split("`") if each.startswith("json.dump(")]
    store = InMemoryStore()
    with (
        SqliteStore.from_conn_string(str(terminal.folder / "store.sqlite")) as sqlite,
        (terminal.folder / "dump.json").open("w") as file,
    ):
        sqlite.setup()
        for (namespace, key), value in ITEMS.items():
            store.put(namespace, key, value)
            sqlite.put(namespace, key, value)
        exec(line, {"json": json, "store": store, "file": file})
    was = (terminal.folder / "store.sqlite").read_bytes()
    said = terminal.run("import", "store", "dump.json")
    assert "3 rows of 2 users settled (" in said
    assert "3 rows of 2 users settled (" in terminal.run("import", "store", "store.sqlite")
    assert (terminal.folder / "store.sqlite").read_bytes() == was
    assert raw_in(database) == []

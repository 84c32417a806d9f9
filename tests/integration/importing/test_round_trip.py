"""An export that is imported elsewhere and exported again says the same."""

from __future__ import annotations

import json

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from testkit.lives import live

from discreet.checkpoint import REDACT, CheckpointPolicy, RedactingSaver
from discreet.errors import ImportSourceError
from discreet.importing.sources.export import open_export
from discreet.rights.exporting import begin, export_to_folder, lines, read_export
from discreet.rights.exporting.format import KINDS, MemoryRow, MessageRow, ThreadRow
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings
from discreet.testing.chat_models import ScriptedChatModel

pytestmark = pytest.mark.slow

STAYS_BEHIND = {
    "batch_requests",
    "rounds",
    "threads",  # they come, see `newest_states`: under other numbers
    "messages",
    "delegations",
    "setting_changes",
    "audit",
    "unreadable",
}
"""What docs/import.md says is not imported."""


@pytest.fixture
async def elsewhere(make_database, migrated_template):
    """Return the storage of another installation, without a key for texts."""
    with make_database(template=migrated_template) as dsn:
        async with open_storage(dsn, embeddings=StubEmbeddings(dims=64), maintained=False) as opened:
            yield opened


def said(path):
    """Return what an export says, by kind, without what other installations have otherwise."""
    found = {kind: [] for kind in KINDS}
    kinds = {model: kind for kind, model in KINDS.items()}
    for record in read_export(path):
        found[kinds[type(record)]].append(
            json.dumps(record.model_dump(mode="json"), sort_keys=True)
        )  # jsonb orders keys
    return {kind: sorted(records) for kind, records in found.items() if kind not in STAYS_BEHIND}


def newest_states(path):
    """Return of each thread its newest state: channels, and the messages in their order."""
    rows = list(read_export(path))
    messages = {
        (row.thread_id, row.checkpoint_ns, row.channel, row.position): (row.type, row.message_id, row.content, row.tool)
        for row in rows
        if isinstance(row, MessageRow)
    }
    return {
        (row.thread_id, row.checkpoint_ns): (
            row.checkpoint_id,
            row.created_at,
            row.values,
            [
                (channel, messages[row.thread_id, row.checkpoint_ns, channel, position])
                for channel, first, last in row.message_runs
                for position in range(first, last + 1)
            ],
        )
        for row in rows
        if isinstance(row, ThreadRow)
    }


async def ask_for_orders(storage, user, thread, *, about="the lampshade"):
    """Have a turn of an agent whose tool the policy keeps."""

    @tool
    def search_orders(query: str) -> str:
        """Search orders."""
        return f"Nothing of {about} is late."

    called = AIMessage("", tool_calls=[{"name": "search_orders", "args": {"query": about}, "id": "call_1"}])
    model = ScriptedChatModel(responses=[called, AIMessage("All is well.")])
    saver = RedactingSaver.from_pool(storage.pool, CheckpointPolicy(tools={"search_orders": REDACT}))
    agent = create_agent(model, [search_orders], checkpointer=saver)
    await agent.ainvoke(
        {"messages": [("user", "Is it late?")]}, {"configurable": {"thread_id": thread, "user_id": user}}
    )


@pytest.fixture
async def exported(storage, tmp_path):
    await live(storage, "ann", "zanzibarine", namespace=("notes", "ann"))
    await storage.memories.save("ann", [MemoryRecord(text="zanzibarine lives in Oslo or so", tags=["home"])])
    await storage.memories.save("ann", [MemoryRecord(text="A moment", type="important_moment", importance=10)])
    await storage.memories.search("ann", "Oslo")
    await storage.memories.close()
    folder = tmp_path / "ann"
    await export_to_folder(folder, begin(storage, "ann", namespaces=[["notes", "ann"]]))
    return folder


async def test_what_is_exported_again_is_the_same(exported, importing, elsewhere, tmp_path):
    report = await importing(open_export(str(exported)), user="ann", into=elsewhere)
    assert not report.bad
    assert set(report.left_out) <= STAYS_BEHIND
    assert {"audit", "batch_requests", "delegations"} <= set(report.left_out)
    again = tmp_path / "again"
    await export_to_folder(again, begin(elsewhere, "ann", namespaces=[["notes", "ann"]]))
    before = said(exported)
    assert said(again) == before
    assert {kind for kind, rows in before.items() if not rows} == set()
    states = newest_states(exported)
    assert any(messages for *_, messages in states.values())
    assert newest_states(again) == states
    assert report.new["thread"] == len(states)


async def test_calls_and_results_of_kept_tools_come_along_as_what_they_are(
    storage, exported, importing, elsewhere, tmp_path
):
    await ask_for_orders(storage, "ann", "orders")
    folder, again = tmp_path / "orders", tmp_path / "again"
    await export_to_folder(folder, begin(storage, "ann"))
    states = newest_states(folder)
    told = [(kind, text, tool) for _, (kind, _, text, tool) in states["orders", ""][3]]
    assert told == [
        ("human", "Is it late?", None),
        ("ai", "", [{"name": "search_orders", "args": {"query": "the lampshade"}, "id": "call_1"}]),
        (
            "tool",
            "Nothing of the lampshade is late.",
            {"name": "search_orders", "status": "success", "tool_call_id": "call_1"},
        ),
        ("ai", "All is well.", None),
    ]
    report = await importing(open_export(str(folder)), user="ann", into=elsewhere)
    assert not report.bad
    await export_to_folder(again, begin(elsewhere, "ann"))
    assert newest_states(again) == states


async def test_threads_that_are_there_stay_as_they_are(exported, importing, elsewhere):
    report = await importing(open_export(str(exported)), user="ann", into=elsewhere)
    async with elsewhere.pool.connection() as conn:
        before = await (await conn.execute("SELECT * FROM checkpoints ORDER BY 1, 2, 3")).fetchall()
        again = await importing(open_export(str(exported)), user="ann", into=elsewhere)
        assert again.there["thread"] == report.new["thread"] > 0
        assert not again.new
        assert await (await conn.execute("SELECT * FROM checkpoints ORDER BY 1, 2, 3")).fetchall() == before


async def test_a_thread_that_was_imported_goes_on_as_its_users(exported, importing, elsewhere):
    await importing(open_export(str(exported)), user="ann", into=elsewhere)
    (thread_id, _), (_, _, _, messages) = next(item for item in newest_states(exported).items() if item[1][3])
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda state: {"messages": [("ai", f"after {len(state['messages'])}")]})
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=RedactingSaver.from_pool(elsewhere.pool))
    thread = {"configurable": {"thread_id": thread_id, "user_id": "ann"}}
    state = await graph.ainvoke({"messages": [HumanMessage("and now?")]}, thread)
    assert state["messages"][-1].text == f"after {len(messages) + 1}"
    assert [message.text for message in state["messages"][: len(messages)]] == [text for _, (_, _, text, _) in messages]


async def test_a_stream_is_read_too(storage, exported, importing, elsewhere, tmp_path):
    path = tmp_path / "ann.ndjson"
    with path.open("wb") as file:
        async for piece in lines(begin(storage, "ann", namespaces=[["notes", "ann"]])):
            file.write(piece)
    await importing(open_export(str(path)), user="ann", into=elsewhere)
    assert len(await elsewhere.memories.latest("ann", held=False)) == len(
        await storage.memories.latest("ann", held=False)
    )


async def test_how_memories_were_used_comes_along(exported, importing, elsewhere):
    await importing(open_export(str(exported)), user="ann", into=elsewhere)
    used = [row for row in read_export(exported) if isinstance(row, MemoryRow) and (row.hits or row.contradicted_by)]
    async with elsewhere.pool.connection() as conn:
        key = {"user_key": elsewhere.background.key_of("ann")}
        stats = await (
            await conn.execute("SELECT entry_id, hits FROM discreet.memory_stats WHERE user_key = %(user_key)s", key)
        ).fetchall()
    assert {row["entry_id"]: row["hits"] for row in stats} == {row.entry_id: row.hits for row in used if row.hits}


async def test_another_user_may_become_the_owner(exported, importing, elsewhere):
    await importing(open_export(str(exported)), user="bea", into=elsewhere)
    assert await elsewhere.memories.latest("ann") == []
    assert len(await elsewhere.log.read("bea")) == 1


async def test_an_export_that_was_changed_is_refused_as_a_whole(exported, importing, elsewhere):
    path = exported / "memories.jsonl"
    path.write_bytes(path.read_bytes().replace(b"Oslo", b"Rome"))
    with pytest.raises(ImportSourceError, match="changed"):
        await importing(open_export(str(exported)), user="ann", into=elsewhere)
    assert await elsewhere.memories.latest("ann", held=False) == []


async def test_a_second_import_of_an_export_changes_nothing(storage, exported, importing, dump):
    before = await dump()
    report = await importing(open_export(str(exported)), user="ann")
    assert not report.new
    assert await dump() == before

"""A person of whom there is something of every kind."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from discreet.checkpoint import KEEP, CheckpointPolicy, RedactingSaver
from discreet.ports import RollingSummary, Round
from discreet.state.background import SessionSummary
from discreet.state.memory_settings import MemorySettings
from discreet.state.records import MemoryRecord, Provenance, TurnRecord
from discreet.storage.background.proposals import propose
from discreet.storage.background.summaries import write_summary
from discreet.storage.database.keys import digest
from discreet.storage.database.roles import apply_roles
from discreet.worker.starting import start


class Talk(MessagesState):
    """What the graph of these tests has."""

    topic: str


async def _answer(state):
    return {"messages": [AIMessage(f"I heard: {state['messages'][-1].content}")], "topic": "birds"}


def make_graph(saver):
    builder = StateGraph(Talk)
    builder.add_node("answer", _answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver)


async def live(storage, user, word, *, namespace):
    """Have all kinds of things kept of `user`, each with `word` in it; return the ids of two memories."""
    now = datetime.now(UTC)
    older, newer = (
        MemoryRecord(
            text=f"{word} lives in {place}",
            type="user_fact",
            tags=["home"],
            thread_id=f"{user}'s thread",
            provenance=Provenance(source="test", model="m"),
        )
        for place in ("Oslo", "Bergen")
    )
    await storage.memories.save(
        user, [older, newer, MemoryRecord(text=f"{word} once", reasoning=f"since {word} said so")]
    )
    await storage.memories.add_feedback(user, older.entry_id, {"comment": f"{word} agrees", "rating": 1})
    turn = TurnRecord(
        request_id=f"{user}-1",
        user_id=user,
        thread_id=f"{user}'s thread",
        intent=f"about {word}",
        input_text=f"I am {word}",
        output_text=f"Hello {word}",
        started_at=now,
        ended_at=now,
    )
    await storage.log.append(turn)
    user_key = storage.background.key_of(user)
    await start(storage.background, user_key, MemorySettings())
    said = Round(request_id=f"{user}-1", input_text=f"I am {word}", output_text="Hello", said_at=now)
    await storage.short_term.append_round(user, f"{user}'s thread", said)
    summary = RollingSummary(text=f"{word} said hello", rounds=1, last_message_id="m1")
    await storage.summaries.commit(user, f"{user}'s thread", expected=RollingSummary(), new=summary)
    thread_key = digest(f"{user}'s thread")
    async with storage.pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
        record = MemoryRecord(text=f"{word} may like tea", provenance=Provenance(turns=[f"{user}-1"]))
        await propose(cursor, user_key, [record], storage.sealer)
        came_to = SessionSummary(
            summary=f"{word} came by",
            topics=["tea"],
            key_facts=[f"{word} is there"],
            event_count=1,
            started_at=now,
            ended_at=now,
        )
        await write_summary(
            cursor, user_key, thread_key, f"{user}'s thread", app_name="default", summary=came_to, sealer=storage.sealer
        )
        await cursor.execute(
            "INSERT INTO discreet.memory_conflict (user_key, older, newer) "
            "VALUES (%(user_key)s, %(older)s, %(newer)s) ON CONFLICT DO NOTHING",
            {"user_key": user_key, "older": older.entry_id, "newer": newer.entry_id},
        )
        await cursor.execute(
            "INSERT INTO discreet.forgotten_round (user_key, thread_key, request_id, forgotten_at) "
            "VALUES (%(user_key)s, %(thread_key)s, %(request_id)s, now())",
            {"user_key": user_key, "thread_key": thread_key, "request_id": f"{user}-0"},
        )
    await storage.store.aput((*namespace, "notes"), "one", {"text": f"{word} wrote this"})
    await storage.store.aput((*namespace, "notes", "deep"), "two", {"text": f"{word} wrote that"}, ttl=10)
    await storage.delegations.grant(user, f"carer of {user}", by=user)
    async with RedactingSaver.from_conn_string(storage.access.owner.conninfo) as owners:
        await owners.setup()
    if storage.access.has_roles:
        await apply_roles(storage.access.owner)
    saver = RedactingSaver.from_pool(storage.pool, CheckpointPolicy(channels={"topic": KEEP}))
    graph = make_graph(saver)
    for thread in (f"{user}'s thread", f"{user}'s other thread {uuid4()}"):
        config = {"configurable": {"thread_id": thread, "user_id": user}}
        for text in (f"{word} here", f"{word} again"):
            await graph.ainvoke({"messages": [("user", text)]}, config)
    return older.entry_id, newer.entry_id

"""Threads whose id holds an e-mail address or a telephone number: refused, or known by a digest in every call."""

from __future__ import annotations

import asyncio

import pytest
from kit.search import in_rows
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph

from discreet.access.sensitive_ids import default_sensitive_ids
from discreet.checkpoint import RedactingSaver, RedactingSyncSaver
from discreet.errors import SensitiveIdError

PHONE = "whatsapp:+12025550143"
CONFIG = {"configurable": {"thread_id": PHONE}}
OTHER = {"configurable": {"thread_id": "ann@example.com"}}
HELLO = {"messages": [("user", "Hello")]}


@pytest.fixture
def policy_of_ids(monkeypatch):
    """Return what sets DISCREET_SENSITIVE_IDS for this process."""

    def set_to(policy):
        monkeypatch.setenv("DISCREET_SENSITIVE_IDS", policy)
        default_sensitive_ids.cache_clear()

    yield set_to
    default_sensitive_ids.cache_clear()


def graph_over(saver):
    def answer(_state):
        return {"messages": [AIMessage("Hi.")]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)


def said(snapshot):
    return [message.text for message in snapshot.values.get("messages", [])]


async def test_a_run_in_such_a_thread_is_refused_before_anything_is_stored(database):
    async with RedactingSaver.from_conn_string(database) as saver:
        await saver.setup()
        graph = graph_over(saver)
        for call in (graph.ainvoke(HELLO, CONFIG), graph.aupdate_state(CONFIG, HELLO, as_node="answer")):
            with pytest.raises(SensitiveIdError, match="thread_id"):
                await call
        await graph.ainvoke(HELLO, {"configurable": {"thread_id": "t"}})
        with pytest.raises(SensitiveIdError):
            await saver.acopy_thread("t", PHONE)
        assert in_rows(database, phone="12025550143") == {}


def test_without_an_event_loop_too():
    graph = graph_over(RedactingSyncSaver(InMemorySaver()))
    with pytest.raises(SensitiveIdError):
        graph.invoke(HELLO, CONFIG)
    with pytest.raises(SensitiveIdError):
        graph.update_state(CONFIG, HELLO, as_node="answer")
    assert said(graph.get_state(CONFIG)) == []


async def test_what_another_saver_has_stored_under_such_an_id_can_be_read_and_deleted(database):
    async with AsyncPostgresSaver.from_conn_string(database) as stock:
        await stock.setup()
        await graph_over(stock).ainvoke(HELLO, CONFIG)
    async with RedactingSaver.from_conn_string(database) as saver:
        await saver.setup()
        graph = graph_over(saver)
        assert said(await graph.aget_state(CONFIG)) == ["Hello", "Hi."]
        await saver.acopy_thread(PHONE, "of-our-own")
        await saver.adelete_thread(PHONE)
        assert said(await graph.aget_state(CONFIG)) == []
        assert said(await graph.aget_state({"configurable": {"thread_id": "of-our-own"}})) == ["Hello", "Hi."]


@pytest.mark.slow
async def test_a_digest_stands_for_it_in_every_call(database, policy_of_ids):
    policy_of_ids("hash")
    async with RedactingSaver.from_conn_string(database) as saver:
        await saver.setup()
        graph = graph_over(saver)
        for _ in range(2):
            await graph.ainvoke(HELLO, CONFIG)
        snapshot = await graph.aget_state(CONFIG)
        stored = snapshot.config["configurable"]["thread_id"]
        assert stored == default_sensitive_ids().thread_id(PHONE) != PHONE
        assert said(snapshot) == ["Hello", "Hi."] * 2
        history = [each async for each in graph.aget_state_history(CONFIG)]
        assert history[0] == snapshot
        assert said(await graph.aget_state(snapshot.config)) == said(snapshot)
        await graph.aupdate_state(CONFIG, {"messages": [("user", "More")]}, as_node="answer")
        await graph.ainvoke(HELLO, history[-1].config)  # a fork
        await saver.acopy_thread(PHONE, "ann@example.com")
        assert said(await graph.aget_state(OTHER)) == said(await graph.aget_state(CONFIG))
        assert in_rows(database, phone="12025550143", mail="ann@example.com") == {}
        await saver.aprune([PHONE])
        assert len([each async for each in graph.aget_state_history(CONFIG)]) == 1
        await saver.adelete_thread(PHONE)
        assert said(await graph.aget_state(CONFIG)) == []
        assert said(await graph.aget_state(OTHER)) != []


def test_so_it_does_without_an_event_loop(policy_of_ids):
    policy_of_ids("hash")
    saver = RedactingSyncSaver(InMemorySaver())
    graph = graph_over(saver)
    graph.invoke(HELLO, CONFIG)
    assert said(graph.get_state(CONFIG)) == ["Hello", "Hi."]
    assert said(next(graph.get_state_history(CONFIG))) == ["Hello", "Hi."]
    assert PHONE not in str(saver.inner.storage)
    saver.delete_thread(PHONE)
    assert said(graph.get_state(CONFIG)) == []


async def test_many_runs_at_once_agree(policy_of_ids):
    policy_of_ids("hash")
    graph = graph_over(RedactingSaver(InMemorySaver()))
    configs = [{"configurable": {"thread_id": f"user{number}@example.com"}} for number in range(5)]
    await asyncio.gather(*(graph.ainvoke(HELLO, config) for config in configs))
    assert {len(said(await graph.aget_state(config))) for config in configs} == {2}

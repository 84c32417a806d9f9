"""PgBouncer in transaction mode: each transaction may meet another server, and none of them keeps anything of a client."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from psycopg_pool import AsyncConnectionPool
from testkit.houses import House

from discreet.checkpoint import RedactingSaver
from discreet.testing import InMemoryKeys

pytestmark = pytest.mark.slow

TURNS = 20


def behind(house: House, pgbouncer: str) -> House:
    house.clients_dsn = urlsplit(pgbouncer)._replace(path=urlsplit(house.dsn).path).geturl()
    return house


def chat(house: House, saver: Any, answer: AIMessage | None = None, *, asks: bool = False) -> Any:
    def speak(state: MessagesState) -> dict[str, Any]:
        if asks:
            interrupt(house.raw("question"))
        return {"messages": [answer]}

    builder = StateGraph(MessagesState)
    builder.add_node("speak", speak)
    builder.add_edge(START, "speak")
    return builder.compile(checkpointer=saver)


async def test_turns_at_once_from_an_empty_database(bare_house, run, pgbouncer):
    house = behind(bare_house, pgbouncer)
    threads = [{"configurable": {"thread_id": str(uuid4())}} for _ in range(TURNS)]
    async with house.saver() as saver:
        await saver.setup()
        for what in ("one", "two"):
            graph = chat(house, saver, house.answer(f"re{what}"))
            turns = [run(graph, {"messages": [house.user(what)]}, thread) for thread in threads]
            failed = [
                each for each in await asyncio.gather(*turns, return_exceptions=True) if isinstance(each, Exception)
            ]
            assert failed == [], f"{len(failed)} of {TURNS} turns failed"
    expected = [("human", "one"), ("ai", "reone"), ("human", "two"), ("ai", "retwo")]
    async with house.saver() as saver:
        for thread in threads:
            assert house.told((await chat(house, saver).aget_state(thread)).values["messages"]) == expected
    house.check()


async def test_turns_over_a_pool_of_the_callers_own(house, run, pgbouncer):
    house = behind(house, pgbouncer)
    threads = [{"configurable": {"thread_id": str(uuid4())}} for _ in range(TURNS)]
    plain = {"prepare_threshold": None}  # as psycopg's documentation says for such poolers
    async with AsyncConnectionPool(house.clients_dsn, kwargs=plain, min_size=2, max_size=6, open=False) as pool:
        saver = RedactingSaver.from_pool(pool)
        graph = chat(house, saver, house.answer("done"))
        turns = [run(graph, {"messages": [house.user("ask")]}, thread) for thread in threads]
        failed = [each for each in await asyncio.gather(*turns, return_exceptions=True) if isinstance(each, Exception)]
    assert failed == [], f"{len(failed)} of {TURNS} turns failed"
    house.check()


async def test_another_process_resumes_with_a_key(house, run, pgbouncer):
    house, keys = behind(house, pgbouncer), InMemoryKeys()
    async with house.saver(keys=keys) as saver:
        await saver.setup()
        await run(chat(house, saver, asks=True), {"messages": [house.user("ask")]}, house.config)
    async with house.saver(keys=keys) as saver:
        await run(chat(house, saver, house.answer("done"), asks=True), Command(resume="yes"), house.config)
    assert await house.after_restart(lambda saver: chat(house, saver)) == [("human", "ask"), ("ai", "done")]
    house.check()


@pytest.mark.parametrize("durability", ["sync"], indirect=True)  # what a connection is told does not depend on it
async def test_no_setting_of_ours_reaches_other_clients_of_the_pooler(house, run, pgbouncer):
    house = behind(house, pgbouncer)
    with psycopg.connect(house.clients_dsn, autocommit=True, prepare_threshold=None) as client:
        before = _session_settings(client)
        async with house.saver() as saver:
            await saver.setup()
            await run(chat(house, saver, house.answer("done")), {"messages": [house.user("ask")]}, house.config)
            await saver.adelete_thread(house.thread)
        assert _session_settings(client) == before


def _session_settings(client: psycopg.Connection[Any]) -> set[tuple[str, str]]:
    """Return what is set in the sessions that a client of the pooler meets, as far as the pooler does not reset it."""
    kept = "SELECT name, setting FROM pg_settings WHERE source = 'session' AND name NOT IN ('client_encoding', 'DateStyle', 'TimeZone', 'application_name', 'standard_conforming_strings')"
    return {tuple(row) for _ in range(8) for row in client.execute(kept).fetchall()}

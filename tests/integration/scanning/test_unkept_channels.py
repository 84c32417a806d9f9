"""A scan says which channels our saver would not keep, and how many threads have each; no value is read for that."""

from __future__ import annotations

import json
import re
from typing import Annotated, TypedDict

import psycopg
import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from testkit.scanning import scan
from typer.testing import CliRunner

from discreet.checkpoint import KEEP, CheckpointPolicy, RedactingSaver
from discreet.cli import app


class Shop(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    cart: list[str]
    locale: str
    fresh_id_71a2: int
    empty: str | None


def say(state):
    said = {"messages": [AIMessage("Hi")], "cart": ["pear"], "empty": None}
    return said | ({"locale": "en", "fresh_id_71a2": 7} if "English" in state["messages"][-1].content else {})


async def shop(saver, *texts, first=0):
    graph = StateGraph(Shop).add_node("say", say).add_edge(START, "say").compile(checkpointer=saver)
    for number, text in enumerate(texts, first):
        await graph.ainvoke({"messages": [("user", text)]}, {"configurable": {"thread_id": f"t{number}"}})


@pytest.fixture
async def stock(empty_database):
    """Return a database of a stock saver with three threads."""
    async with AsyncPostgresSaver.from_conn_string(empty_database) as saver:
        await saver.setup()
        await shop(saver, "Hello", "Hello", "English please")
    return empty_database


FOUND = {"cart": 3, "*": 1, "locale": 1}


async def test_channels_are_told_with_their_threads(stock):
    assert scan(stock).unkept == FOUND
    assert scan(stock).keeping == 'CheckpointPolicy(channels={"cart": REDACT, "locale": REDACT})'


async def test_the_same_of_a_file_of_sqlite(tmp_path):
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
        await shop(saver, "Hello", "Hello", "English please")
    assert scan(tmp_path / "threads.sqlite").unkept == FOUND


async def test_threads_that_our_saver_has_stored_are_not_counted(stock):
    policy = CheckpointPolicy(channels={"cart": KEEP})
    async with RedactingSaver.from_conn_string(stock, policy=policy) as saver:
        await saver.setup()
        await shop(saver, "Hello", "Hello")
    assert scan(stock).unkept == {"*": 1, "cart": 1, "locale": 1}


async def test_a_sample_counts_its_own_threads(stock):
    with psycopg.connect(stock) as connection:
        query = (
            "SELECT count(DISTINCT thread_id) FROM checkpoints WHERE abs(hashtext(thread_id)::bigint) % 10000 < 5000"
        )
        [(threads,)] = connection.execute(query).fetchall()
    assert scan(stock, sample=0.5).unkept.get("cart", 0) == threads


async def test_a_database_without_own_channels_has_none(empty_database):
    async with AsyncPostgresSaver.from_conn_string(empty_database) as saver:
        await saver.setup()
        graph = StateGraph(MessagesState).add_node("say", lambda _: {"messages": [AIMessage("Hi")]})
        graph = graph.add_edge(START, "say").compile(checkpointer=saver)
        await graph.ainvoke({"messages": [("user", "Hello")]}, {"configurable": {"thread_id": "t"}})
    report = scan(empty_database)
    assert (report.unkept, report.keeping) == ({}, None)


async def test_the_command_tells_them_in_words_as_json_and_on_its_page(stock, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "report.html"
    said = CliRunner().invoke(app, ["scan", stock, "--html", str(page)]).stdout
    assert "Would not be kept: channel cart, 3 threads." in said
    assert "Would not be kept: channel locale, 1 thread." in said
    assert 'policy=CheckpointPolicy(channels={"cart": REDACT, "locale": REDACT}).' in said
    assert json.loads(CliRunner().invoke(app, ["scan", stock, "--json"]).stdout)["unkept"] == FOUND
    html = page.read_text()
    assert "Channels that would not be kept" in html
    assert re.search(r"<bdi>cart</bdi><b>3 threads</b>", html)
    assert "pear" not in html

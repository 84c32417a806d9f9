"""When it starts and when it does not, and that nothing raw is stored if Aegra keeps its own checkpointer after all."""

import json
import re
import shutil
import socket
from pathlib import Path

import httpx
import pytest
from kit.search import Words, search
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from testkit.aegra import aegra

from discreet.api.aegra import database
from discreet.api.aegra.database import Persistence, check_release, persistence
from discreet.api.aegra.serving import served
from discreet.errors import ConfigurationError, UntestedServerError
from discreet.graph.guard import guarded

HERE = Path(__file__).parent
TAKEN = "a port that is taken"

UNDONE = """
from aegra_api.core.database import DatabaseManager, db_manager

from discreet.api.aegra.server import app

__all__ = ["app"]

# As a release of Aegra would that takes its checkpointer from elsewhere.
own = DatabaseManager.get_checkpointer
db_manager.get_checkpointer = own.__get__(db_manager)
"""


@pytest.mark.parametrize("release", ["0.10.9", "0.11.1", "0.12.0"])
def test_a_release_that_nobody_tried_is_refused(release):
    with pytest.raises(UntestedServerError, match=release):
        check_release(release)


def test_the_release_of_the_image_is_one_that_was_tried():
    dockerfile = (HERE.parents[1] / "deploy" / "aegra" / "Dockerfile").read_text()
    check_release(re.search(r'"aegra-api==([\d.]+)"', dockerfile)[1])


def test_workers_elsewhere_need_a_vault_that_they_see(monkeypatch):
    monkeypatch.setattr(database.settings.redis, "REDIS_BROKER_ENABLED", True)
    with pytest.raises(ConfigurationError, match="DISCREET_TURN_VAULT"):
        persistence.__wrapped__()


def test_workers_elsewhere_need_the_same_database(monkeypatch):
    monkeypatch.setattr(database.settings.redis, "REDIS_BROKER_ENABLED", True)
    monkeypatch.setenv("DISCREET_TURN_VAULT", "postgres")
    monkeypatch.delenv("DISCREET_POSTGRES_DSN", raising=False)
    with pytest.raises(ConfigurationError, match="DISCREET_POSTGRES_DSN"):
        persistence.__wrapped__()


def test_before_the_start_there_is_no_checkpointer():
    class Manager:
        async def initialize(self):
            """Open its own."""

        async def close(self):
            """Close them."""

    manager = Manager()
    Persistence(manager)
    with pytest.raises(ConfigurationError):
        manager.get_checkpointer()
    with pytest.raises(ConfigurationError):
        manager.get_store()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"DISCREET_TURN_VAULT": "memory"}, "DISCREET_TURN_VAULT=postgres"),
        ({"DISCREET_MAX_INPUT_CHARS": "many"}, "DISCREET_MAX_INPUT_CHARS"),
        ({"DISCREET_DATA_DIR": "aegra.json/data"}, "DISCREET_DATA_DIR"),
        ({"DISCREET_METRICS_PORT": TAKEN}, "DISCREET_METRICS_PORT"),
        ({"DISCREET_CHAT_MODEL": "nobody:nothing"}, "nobody"),
        ({"DISCREET_POSTGRES_DSN": "postgresql://ann@127.0.0.1:1/nothing"}, "DISCREET_POSTGRES_DSN"),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_what_keeps_it_from_starting_is_one_sentence_and_no_traceback(
    tmp_path, make_database, redis_server, settings, named
):
    for name in ("aegra.json", "graphs.py"):
        shutil.copy(HERE.parents[1] / "deploy" / "aegra" / name, tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        given = {name: str(taken.getsockname()[1]) if value is TAKEN else value for name, value in settings.items()}
        with (
            pytest.raises(RuntimeError) as ended,
            aegra(tmp_path, make_database, redis_server, config="aegra.json", apis=1, workers=0, **given),
        ):
            pytest.fail("it started")
    *_, last = (line for line in str(ended.value).splitlines() if "Application startup failed" not in line)
    assert "Discreet can't start: " in last
    assert named in last
    assert "Traceback" not in str(ended.value)


async def test_a_served_graph_does_not_run_over_another_checkpointer():
    builder = StateGraph(MessagesState)
    builder.add_node("never", lambda _: pytest.fail("it ran"))
    builder.add_edge(START, "never")
    builder.add_edge("never", END)
    graph = served(guarded(builder.compile()))
    for saver in (InMemorySaver(), None):
        copy = graph.copy(update={"checkpointer": saver})
        with pytest.raises(ConfigurationError, match="checkpointer"):
            await copy.ainvoke({"messages": []}, {"configurable": {"thread_id": "1"}})


def test_if_aegra_keeps_its_checkpointer_runs_fail_and_nothing_raw_is_stored(
    tmp_path, make_database, redis_server, token
):
    planted = f"{token}@example.com"
    shutil.copy(HERE.parents[1] / "deploy" / "aegra" / "graphs.py", tmp_path)
    (tmp_path / "undone.py").write_text(UNDONE)
    config = {
        "graphs": {"agent": "./graphs.py:agent"},
        "auth": {"path": "discreet.api.aegra.server:auth"},
        "http": {"app": "./undone.py:app"},
    }
    (tmp_path / "aegra.json").write_text(json.dumps(config))
    with aegra(tmp_path, make_database, redis_server, config="aegra.json", apis=1, workers=0) as server:
        headers = server.headers("ann@example.com")
        with httpx.Client(base_url=server.url, headers=headers, timeout=60) as client:
            message = {"messages": [{"role": "user", "content": f"Write to {planted}."}]}
            run = client.post("/runs/wait", json={"assistant_id": "agent", "input": message, "on_completion": "keep"})
        assert "__error__" in run.json()
        assert "checkpointer" in run.text
        assert search(server.everything(), Words(mail=planted)).leaks == {}

"""A key of OpenAI's in the environment names no provider: no word, picture or file goes there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from langchain_core.messages import HumanMessage
from testkit.adopters import MEDIA, agent_of, chat_turns, media_turns
from testkit.adopting import Adopter, Recorder, Said, Turn, adopted, answer, play

from discreet.graph import build_graph
from discreet.state.context import Context


@contextmanager
def counting() -> Iterator[tuple[str, list[str]]]:
    """Yield the address of a server that refuses all, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_error(400)

        do_GET = do_POST

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
        server.shutdown()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    with counting() as (address, asked):
        monkeypatch.setenv("OPENAI_API_KEY", "-".join(("sk", "proj", "0" * 48)))
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        monkeypatch.delenv("DISCREET_EMBEDDING_MODEL")
        yield asked


def turns(said: Said) -> list[Turn]:
    """Return a picture and a file, and so many turns that a conversation would be summarised."""
    return [*media_turns(*MEDIA.values())(said), *chat_turns(13)(said)[1:]]


async def test_an_adopter_sends_nothing_there(asked, database):
    said = Said(database)
    async with adopted(database) as (saver, memory, _):
        await play(Adopter(agent_of, turns), said, saver, memory)
        said.thread += "2"
        await play(Adopter(agent_of, chat_turns(2)), said, saver, memory)
    assert asked == []
    assert said.on_disk(files=False) == {}


async def test_the_template_with_a_model_of_ones_own_sends_nothing_there(asked, database):
    said, model = Said(database), Recorder(replies=[answer("Noted.")], repeats=True)
    async with adopted(database) as (saver, _, storage):
        graph = build_graph(storage=storage, chat_model=model).compile(checkpointer=saver)
        for turn in chat_turns(13)(said):
            await graph.ainvoke(turn.given, said.config(), context=Context(user_id="ann"))
    assert asked == []


async def test_a_picture_goes_to_the_model_of_the_template_and_nowhere_else(asked, database):
    said, model = Said(database), Recorder(replies=[answer("A picture.")], repeats=True)
    async with adopted(database) as (saver, _, storage):
        graph = build_graph(storage=storage, chat_model=model).compile(checkpointer=saver)
        text = {"type": "text", "text": "What is this?"}
        given = {"messages": [HumanMessage([text, MEDIA["image"](said)], id="m-1")]}
        await graph.ainvoke(given, said.config(), context=Context(user_id="ann"))
    assert said.png in str(model.prompts[0][-1].content)
    assert asked == []
    assert said.on_disk() == {}

"""OpenAI's clients on event loops that come and go, against a server that keeps connections open."""

import asyncio
import gc
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import openai
import pytest
from langchain_core.messages import AIMessage

from discreet.graph import build_graph
from discreet.providers import chat_model, embedding_provider, openai_connections
from discreet.providers.openai import asked_once
from discreet.providers.openai_connections import MOST_STANDING_STILL
from discreet.settings import Settings
from discreet.testing import openai_server
from discreet.testing.loopback import LoopbackHandler

KEYS = {"DISCREET_OPENAI_API_KEY": "k" * 40}, {"openai_api_keys": f"{'s' * 40},{'t' * 40}"}
TURNS = 6


@pytest.fixture
def connections(monkeypatch):
    """Have the server keep connections, and return those that were opened (True) and closed (False), in order."""
    seen = []

    def setup(handler):
        seen.append(True)
        super(LoopbackHandler, handler).setup()

    def finish(handler):
        super(LoopbackHandler, handler).finish()
        seen.append(False)

    for name, value in {"protocol_version": "HTTP/1.1", "setup": setup, "finish": finish}.items():
        monkeypatch.setattr(LoopbackHandler, name, value, raising=False)
    return seen


@pytest.fixture
def server(connections):
    with openai_server([AIMessage("Hello.")] * 100) as running:
        yield running


@pytest.fixture(params=KEYS, ids=["one key", "several keys"])
def settings(server, request):
    return Settings(_env_file=None, DISCREET_OPENAI_BASE_URL=server.base_url, embedding_dims=8, **request.param)


def in_threads(run):
    """Run it in six threads at once, with an event loop each, two times."""
    barrier = Barrier(TURNS)

    def turn(_number):
        barrier.wait(30)
        return asyncio.run(run())

    with ThreadPoolExecutor(TURNS) as pool:
        return [*pool.map(turn, range(TURNS)), *pool.map(turn, range(TURNS))]


def one_after_the_other(run):
    return [asyncio.run(run()) for _ in range(TURNS)]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("all_of", [one_after_the_other, in_threads])
def test_a_chat_model_answers_on_every_loop(settings, all_of):
    model = asked_once(chat_model("openai:any", settings=settings))

    async def ask():
        return [(await model.ainvoke("Hi")).text for _ in range(2)]

    assert all(answers == ["Hello."] * 2 for answers in all_of(ask))


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("all_of", [one_after_the_other, in_threads])
def test_an_embedding_model_answers_on_every_loop(settings, all_of):
    model = embedding_provider("openai:any", settings=settings)
    assert all(len(vector) == 8 for vector in all_of(lambda: model.aembed_query("parrots")))


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("all_of", [one_after_the_other, in_threads])
def test_a_graph_answers_on_every_loop(settings, all_of):
    graph = build_graph(settings=settings, chat_model="openai:any").compile()
    turns = all_of(lambda: graph.ainvoke({"messages": [("user", "Hi")]}))
    assert {turn["messages"][-1].text for turn in turns} == {"Hello."}


@pytest.fixture
def opened():
    """Return the loops that have connections since the test began; the background loop of others may have some for good."""
    before = {*openai_connections._open}
    return lambda: {*openai_connections._open} - before


@pytest.mark.slow
def test_models_of_one_loop_share_their_connections_which_end_with_it(settings, connections, opened):
    async def ask():
        for _ in range(3):
            await chat_model("openai:any", settings=settings).ainvoke("Hi")
            await embedding_provider("openai:any", settings=settings).aembed_query("parrots")
        return list(connections)

    assert asyncio.run(ask()) == [True]
    assert not opened()


def test_loops_may_end_in_the_middle_of_a_stream(settings, opened, caplog):
    model = chat_model("openai:any", settings=settings)
    held = []

    async def ask():
        held.append(model.astream("Hi"))
        return (await anext(held[-1])).text

    assert one_after_the_other(ask) == ["Hello."] * TURNS
    assert not opened()
    assert openai_connections._closed_with.__name__ not in caplog.text  # of httpx's own generators one may complain


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning"
)  # a loop that is not shut down can't close its connections
@pytest.mark.parametrize(("is_closed", "most"), [(True, 1), (False, MOST_STANDING_STILL + 1)])
def test_loops_that_end_without_ado_are_forgotten_with_the_next(settings, opened, is_closed, most):
    model = chat_model("openai:any", settings=settings)
    for _ in range(2 * MOST_STANDING_STILL):
        loop = asyncio.new_event_loop()
        assert loop.run_until_complete(model.ainvoke("Hi")).text == "Hello."
        assert len(opened()) <= most
        if is_closed:
            loop.close()
    for loop in opened():
        loop.close()
    asyncio.run(model.ainvoke("Hi"))
    assert not opened()
    del loop
    gc.collect()


@pytest.mark.parametrize("keys", KEYS, ids=["one key", "several keys"])
def test_the_proxy_of_the_environment_is_asked_whole_and_awaited(monkeypatch, caplog, keys):
    with openai_server() as proxy:
        monkeypatch.setenv("http_proxy", proxy.base_url.removesuffix("/v1"))
        told = Settings(_env_file=None, DISCREET_OPENAI_BASE_URL="http://model.example/v1", **keys)
        model = chat_model("openai:any", settings=told)
        with pytest.raises(openai.NotFoundError):
            model.invoke("Hi")
        with pytest.raises(openai.NotFoundError):
            asyncio.run(model.ainvoke("Hi"))
    assert {request.path for request in proxy.requests} == {"http://model.example/v1/chat/completions"}
    assert not caplog.records

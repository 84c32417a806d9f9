"""The real OpenAI clients of LangChain against the loopback server of `discreet.testing`."""

import base64
import math
import struct
import time
from functools import partial

import openai
import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from discreet.errors import ProviderError
from discreet.graph import build_graph
from discreet.providers import chat_model, embedding_provider
from discreet.providers.openai import asked_once
from discreet.providers.retry import ModelRetry
from discreet.settings import Settings
from discreet.testing import Failure, StubEmbeddings, openai_server

KEY = "k" * 40
CALL = {"name": "lookup", "args": {"query": "đơn hàng 订单", "limit": 3}, "id": "c1", "type": "tool_call"}


@tool
def lookup(query: str, limit: int) -> str:
    """Look something up."""


def settings(server, **values):
    return Settings(
        _env_file=None, **{"DISCREET_OPENAI_API_KEY": KEY, "DISCREET_OPENAI_BASE_URL": server.base_url, **values}
    )


async def test_text_comes_back_whole_sync_and_async():
    with openai_server([AIMessage("Xin chào."), AIMessage("Привет.")]) as server:
        model = chat_model("openai:any", settings=settings(server))
        assert model.invoke("Hi").content == "Xin chào."
        assert (await model.ainvoke("Hi")).content == "Привет."
    assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2
    assert server.requests[0].body["model"] == "any"
    assert server.requests[0].authorization == f"Bearer {KEY}"


async def test_tools_are_offered_called_and_answered():
    with openai_server([AIMessage("", tool_calls=[CALL]), AIMessage("Done.")]) as server:
        model = chat_model("openai:any", settings=settings(server)).bind_tools([lookup])
        asked = await model.ainvoke("Hi")
        assert asked.tool_calls == [CALL]
        answer = await model.ainvoke([HumanMessage("Hi"), asked, ToolMessage("found", tool_call_id="c1")])
        assert answer.content == "Done."
    assert server.requests[0].body["tools"][0]["function"]["name"] == "lookup"
    assert [message["role"] for message in server.requests[1].body["messages"]] == ["user", "assistant", "tool"]


async def test_streams_of_text_and_tool_calls_add_up():
    message = AIMessage("Let me look 看一看.", tool_calls=[CALL, {**CALL, "id": "c2", "args": {}}])
    with openai_server([message] * 2) as server:
        model = chat_model("openai:any", settings=settings(server)).bind_tools([lookup])
        for chunks in (list(model.stream("Hi")), [chunk async for chunk in model.astream("Hi")]):
            total = sum(chunks[1:], chunks[0])
            assert len(chunks) > 5
            assert total.content == message.content
            assert total.tool_calls == message.tool_calls
    assert all(request.body["stream"] for request in server.requests)


async def test_a_server_of_ones_own_needs_no_key():
    with openai_server([AIMessage("Hello.")]) as server:
        model = chat_model("openai:any", settings=settings(server, DISCREET_OPENAI_API_KEY=None))
        assert (await model.ainvoke("Hi")).content == "Hello."
    assert KEY not in server.requests[0].authorization


def test_a_rate_limit_is_waited_out():
    with openai_server([Failure(status=429, retry_after=0.01), AIMessage("Hello.")]) as server:
        assert chat_model("openai:any", settings=settings(server)).invoke("Hi").content == "Hello."
    assert len(server.requests) == 2


@pytest.mark.slow
def test_a_server_that_keeps_failing_is_an_error():
    with openai_server([Failure(status=500)]) as server:
        model = chat_model("openai:any", settings=settings(server))
        with pytest.raises(openai.InternalServerError):
            model.invoke("Hi")


@pytest.mark.slow
def test_an_answer_that_comes_too_late_is_a_time_out_and_stops_nothing():
    started = time.monotonic()
    with openai_server([Failure(delay=60)] * 5) as server:
        model = chat_model("openai:any", settings=settings(server))
        with pytest.raises(openai.APITimeoutError):
            model.bind(timeout=0.05).invoke("Hi")
    assert time.monotonic() - started < 10


async def test_embeddings_arrive_at_the_asked_size_on_every_way():
    with openai_server() as server:
        model = embedding_provider("openai:any", settings=settings(server, embedding_dims=64))
        expected = StubEmbeddings(64).embed_query("hai con vẹt")
        vectors = [
            model.embed_query("hai con vẹt"),
            *model.embed_documents(["hai con vẹt"]),
            await model.aembed_query("hai con vẹt"),
            *await model.aembed_documents(["hai con vẹt"]),
        ]
    for vector in vectors:
        assert vector == pytest.approx(expected, abs=1e-6)
        assert math.fsum(x * x for x in vector) == pytest.approx(1.0)
    assert {request.path for request in server.requests} == {"/v1/embeddings"}
    assert all(request.body["dimensions"] == 64 for request in server.requests)


def test_both_encodings_carry_the_same_vector():
    with openai_server() as server, openai.OpenAI(base_url=server.base_url, api_key="unused") as client:
        packed, plain = (
            client.embeddings.create(model="any", input="parrots", encoding_format=encoding).data[0].embedding
            for encoding in ("base64", "float")
        )
    assert struct.unpack(f"<{len(plain)}f", base64.b64decode(packed)) == pytest.approx(plain)


def test_empty_texts_and_nuls_never_reach_the_server():
    with openai_server() as server:
        embedding_provider("openai:any", settings=settings(server)).embed_documents(["", "a\0b", "\ud800"])
    assert server.requests[0].body["input"] == [" ", "ab", "�"]


async def test_a_failing_embedding_server_is_a_provider_error_without_the_text():
    with openai_server([Failure(status=400)] * 2) as server:
        model = embedding_provider("openai:any", settings=settings(server))
        with pytest.raises(ProviderError, match="openai:any:512 failed: BadRequestError") as caught:
            model.embed_query("SECRET")
        with pytest.raises(ProviderError):
            await model.aembed_documents(["SECRET"])
    assert "SECRET" not in str(caught.value)


def test_a_server_that_ignores_the_size_is_told_by_name():
    with openai_server(embeddings=FixedSize()) as server:
        model = embedding_provider("openai:any", settings=settings(server, embedding_dims=64))
        with pytest.raises(ProviderError, match=r"returned 3 floats instead of 64.*DISCREET_EMBEDDING_DIMS"):
            model.embed_query("parrots")


class FixedSize:
    def embed_documents(self, texts):
        return [[1.0, 0.0, 0.0] for _ in texts]


def test_the_models_are_listed_and_other_paths_are_not_found():
    with openai_server() as server, openai.OpenAI(base_url=server.base_url, api_key="unused", max_retries=0) as client:
        assert [model.id for model in client.models.list()] == ["scripted"]
        with pytest.raises(openai.NotFoundError):
            client.files.list()
        with pytest.raises(openai.NotFoundError):
            client.moderations.create(input="x")


SECOND, THIRD = "s" * 40, "t" * 40
BUSY, REFUSED = Failure(status=429, retry_after=30), Failure(status=401)


def keys_used(server):
    return [request.authorization.removeprefix("Bearer ") for request in server.requests]


async def answered(settings, *, streamed=False, **options):
    """Return the last message of a turn of the template, as it would be deployed."""
    graph = build_graph(settings=settings, chat_model="openai:any", **options).compile()
    given = {"messages": [("user", "Hi")]}
    if not streamed:
        return (await graph.ainvoke(given))["messages"][-1].text
    chunks = [chunk async for chunk, _ in graph.astream(given, stream_mode="messages")]
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, AIMessageChunk))


@pytest.fixture
def slept(monkeypatch):
    """Return the seconds that the assistant has waited, of which none pass."""
    seconds = []

    async def sleep(asked):
        seconds.append(asked)

    # a graph is given settings, and no clock
    monkeypatch.setattr("discreet.graph.parts.ModelRetry", partial(ModelRetry, sleep=sleep))
    return seconds


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_assistant_waits_as_long_as_retry_after_says_and_no_client_multiplies_that(streamed, slept):
    failures = [Failure(status=429, retry_after=7)] * 2
    with openai_server([*failures, AIMessage("Hello.")]) as server:
        assert await answered(settings(server), streamed=streamed) == "Hello."
        assert slept == [7, 7]
        assert len(server.requests) == 3


@pytest.mark.parametrize("failure", [BUSY, Failure(status=503)])
@pytest.mark.parametrize("streamed", [False, True])
async def test_the_fallback_model_answers_where_the_other_one_does_not(failure, streamed, slept):
    failures = [failure] * (1 if failure is BUSY else 3)
    with openai_server([*failures, AIMessage("Hello.")]) as server:
        told = settings(server, fallback_model="openai:other")
        assert await answered(told, streamed=streamed) == "Hello."
        assert [request.body["model"] for request in server.requests] == [*["any"] * len(failures), "other"]
        assert len(slept) == len(failures) - 1


@pytest.mark.slow
async def test_a_server_that_is_not_there_goes_to_the_fallback():
    with openai_server() as server:
        told = settings(server, fallback_model="offline", model_retry_seconds=0.5)
    assert "offline" in await answered(told)


def test_it_is_the_same_in_a_graph_that_is_invoked():
    with openai_server([BUSY, AIMessage("Hello.")]) as server:
        graph = build_graph(settings=settings(server, fallback_model="openai:other"), chat_model="openai:any").compile()
        assert graph.invoke({"messages": [("user", "Hi")]})["messages"][-1].text == "Hello."


async def test_retries_that_their_user_has_chosen_are_left_alone():
    chosen = ChatOpenAI(model="any", api_key=KEY, base_url="http://127.0.0.1:1/v1", max_retries=4)
    ours = ChatOpenAI(model="any", api_key=KEY, base_url="http://127.0.0.1:1/v1")
    assert asked_once(chosen) is chosen
    assert (asked_once(ours).root_async_client.max_retries, ours.root_async_client.max_retries) == (0, 2)


@pytest.mark.parametrize("failure", [BUSY, REFUSED])
async def test_a_key_that_is_used_up_or_refused_is_passed_over_without_a_wait(failure):
    with openai_server([failure, AIMessage("Hello."), failure, AIMessage("Hello again.")]) as server:
        model = asked_once(chat_model("openai:any", settings=settings(server, openai_api_keys=f" {SECOND}, {KEY}")))
        assert (await model.ainvoke("Hi")).text == "Hello."
        assert model.invoke("Hi").text == "Hello again."
        assert keys_used(server) == [KEY, SECOND, SECOND, KEY]


async def test_keys_take_turns_for_chat_and_embeddings_whole_and_streamed():
    with openai_server([AIMessage("Hello.")] * 3) as server:
        told = settings(server, DISCREET_OPENAI_API_KEY=None, openai_api_keys=f"{KEY},{SECOND},{THIRD}")
        model = chat_model("openai:any", settings=told)
        model.invoke("Hi")
        assert "".join([chunk.text async for chunk in model.astream("Hi")]) == "Hello."
        "".join(chunk.text for chunk in model.stream("Hi"))
        embedding_provider("openai:any", settings=told).embed_query("parrots")
        assert keys_used(server) == [KEY, SECOND, THIRD, KEY]


async def test_when_all_keys_are_used_up_the_assistant_waits_once(slept):
    used_up = Failure(status=429, retry_after=7)
    with openai_server([used_up, used_up, AIMessage("Hello.")]) as server:
        assert await answered(settings(server, openai_api_keys=SECOND)) == "Hello."
        assert keys_used(server) == [KEY, SECOND, SECOND]
        assert slept == [7]


async def test_no_key_stands_in_an_error_or_a_log(caplog):
    caplog.set_level("DEBUG")
    with openai_server([REFUSED, REFUSED]) as server:
        model = chat_model("openai:any", settings=settings(server, openai_api_keys=SECOND))
        with pytest.raises(openai.AuthenticationError) as caught:
            await model.ainvoke("Hi")
        shown = f"{caught.value!r} {model!r} {settings(server, openai_api_keys=SECOND)!r} {caplog.text}"
    assert not any(key in shown for key in (KEY, SECOND))

"""Requests that are made to get round the ingress, or to keep it busy."""

import asyncio
import gc
import json
import string
import threading

import pytest

from discreet.api.ingress import answers, middleware
from discreet.api.ingress.answers import Restoring
from discreet.api.ingress.bodies import Cleaned
from discreet.redaction import InMemoryTurnVault
from discreet.state.request_ref import REQUEST_REF, part_key, values_ref

THREAD = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
MAIL = "ann@example.com"
LETTERS = string.ascii_uppercase


def run_body():
    return {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": f"I am {MAIL}", "id": "m-1"}]}}


@pytest.fixture
def mounted():
    return {"root_path": "/my-api"}


async def test_below_a_mount_a_run_is_a_run(call, recorder, vault, identity, mounted):
    await call("POST", f"/my-api/threads/{THREAD}/runs/wait", run_body(), scope=mounted)
    configurable = recorder.body["config"]["configurable"]
    assert json.loads(vault.values(configurable[REQUEST_REF])[part_key("input")]) == run_body()["input"]
    assert configurable["user_id"] == identity("ann")


async def test_below_a_mount_an_item_can_not_be_named_by_a_sensitive_value(call, recorder, mounted):
    reply = await call("PUT", "/my-api/store/items", {"namespace": ["a"], "key": MAIL, "value": {}}, scope=mounted)
    assert reply.status == 422


async def test_below_a_mount_routes_of_ours_get_what_was_sent(call, recorder, mounted):
    await call("POST", "/my-api/memory/store", {"short_answer": MAIL}, user=None, scope=mounted)
    assert recorder.body == {"short_answer": MAIL}


@pytest.mark.parametrize("scheme", [b"langsmith", b"LangSmith"])
async def test_whoever_says_to_be_the_studio_shows_credentials_where_the_server_does_not_let_it_in(
    call, recorder, vault, scheme
):
    reply = await call("POST", "/runs/wait", run_body(), user=None, headers=[(b"x-auth-scheme", scheme)])
    assert reply.status == 401
    assert recorder.requests == []
    assert repr(vault) == "InMemoryTurnVault(0 turns)"


async def test_the_studio_is_for_the_server_to_check_where_it_lets_it_in(call, recorder, ingress):
    ingress._studio = True
    await call("POST", "/runs/wait", run_body(), user=None, headers=[(b"x-auth-scheme", b"langsmith")])
    assert MAIL not in json.dumps(recorder.body)


async def test_of_a_header_that_comes_twice_the_first_counts_as_for_the_server(call, recorder, ingress, identity):
    ingress._studio = True
    twice = [(b"authorization", b"Bearer bob"), (b"x-auth-scheme", b"none"), (b"x-auth-scheme", b"langsmith")]
    await call("POST", "/runs/wait", run_body(), headers=twice)
    assert recorder.body["config"]["configurable"]["user_id"] == identity("ann")


@pytest.mark.parametrize(("method", "path"), [("POST", "/ok"), ("POST", "/"), ("OPTIONS", "/runs/wait")])
async def test_of_whom_nobody_knows_no_body_is_read(call, recorder, method, path):
    reply = await call(method, path, b"{" * 50_000, user=None)
    assert reply.status == 200
    assert recorder.requests[-1]["body"] == b""


async def test_a_path_is_no_longer_than_a_query_may_be(call, recorder):
    reply = await call("GET", "/a" * 5_000)
    assert reply.status == 400
    assert recorder.requests == []


@pytest.mark.parametrize("query", [b"note=ann%40example.com&x=%ff", b"note=ann%40example.com&x=" + b"a" * 9_000])
async def test_a_query_that_is_refused_is_not_left_for_the_log(ingress, query):
    scope = {"type": "http", "method": "GET", "path": "/ok", "headers": [], "query_string": query}

    async def nothing(*_):
        return {"type": "http.request", "body": b""}

    await ingress(scope, nothing, nothing)
    assert scope["query_string"] == b""


@pytest.mark.slow
async def test_a_request_is_not_kept_while_it_is_answered(call, ingress):
    """A run may take minutes, and a body 30 MB."""
    gc.collect()  # what other tests left is not looked for
    kept = [True]

    async def app(scope, receive, send):
        assert MAIL.encode() not in (await receive())["body"]
        for _ in range(500):  # the thread that did the work may not have left it yet
            kept[:] = [True for each in gc.get_objects() if isinstance(each, Cleaned)]
            if not kept:
                break
            await asyncio.sleep(0.01)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    ingress._app = app
    assert (await call("POST", "/runs/wait", run_body())).status == 200
    assert kept == []


async def test_large_bodies_are_worked_on_two_at_a_time(call, monkeypatch):
    under_way, most = 0, 0
    work = middleware.rewritten

    def watched(*args, **options):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        pair.wait(30)
        try:
            return work(*args, **options)
        finally:
            under_way -= 1

    pair = threading.Barrier(2)
    monkeypatch.setattr(middleware, "LARGE_BYTES", 100)
    monkeypatch.setattr(middleware, "rewritten", watched)
    await asyncio.gather(*(call("POST", "/threads", {"metadata": {"x": "a" * 200}}) for _ in range(4)))
    assert most == 2


@pytest.mark.parametrize(
    "body",
    [["a"] * 50_001, [[{"a": 1}] * 9_000] * 3, {f"k{n}": [] for n in range(26_000)}],
    ids=["list", "deep", "names"],
)
async def test_a_body_of_very_many_values_is_refused_before_each_is_read(call, ingress, recorder, body):
    ingress._max_body_bytes = 1_000_000
    reply = await call("POST", "/threads", body)
    assert (reply.status, recorder.requests) == (422, [])
    assert "50,000 values" in reply.json["error"]["fields"][0]["problem"]


async def test_a_long_connection_asks_and_remembers_no_more_than_so_much(monkeypatch):
    asked = []

    class Vault(InMemoryTurnVault):
        async def avalues(self, turn):
            asked.append(turn)
            return {}

    monkeypatch.setattr(answers, "MOST_CHARS", 1_000)
    restoring = Restoring(Vault(), [], {})
    for number in range(100):
        restoring.knows(
            [f"r{number}"], {f"<EMAIL:{'A' * 6}{LETTERS[number // 26]}{LETTERS[number % 26]}>": f"v{number}"}
        )
    assert await restoring.text("<EMAIL:AAAAAADV>") == "v99"
    assert asked == []
    assert await restoring.text("<EMAIL:AAAAAAAA>") == "<EMAIL:AAAAAAAA>"
    assert asked == [values_ref(f"r{number}") for number in range(80, 100)]

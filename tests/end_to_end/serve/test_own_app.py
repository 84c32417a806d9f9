"""The server of examples/fastapi_app.py: two processes over one database, and users who can't read each other's conversations."""

import asyncio
import json
from datetime import timedelta

import pytest
from kit.places import make_talkative
from kit.planter import Planter
from kit.search import search
from testkit.clients import local_client
from testkit.ports import free_port
from testkit.rest_servers import OWN_APP, rest_server, shared_vault

from discreet.storage.embedded import lease_server

pytestmark = pytest.mark.slow

EVENTS = {"accept": "text/event-stream"}
BIRDS = "I keep two African Grey parrots."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("own_app")


@pytest.fixture(scope="module")
def dsn(folder):
    """The embedded server is held, so that what is left can be read when nothing serves any more."""
    with lease_server(folder / ".discreet") as dsn:
        make_talkative(dsn)
        yield dsn


@pytest.fixture(scope="module")
def metrics(folder):
    """Return the settings by which both processes show their metrics at one port."""
    together = folder / "metrics"
    together.mkdir()
    return {"DISCREET_METRICS_PORT": str(free_port()), "PROMETHEUS_MULTIPROC_DIR": str(together)}


@pytest.fixture(scope="module")
def own_app(folder, dsn, metrics):
    with rest_server(OWN_APP, folder, dsn, DISCREET_MAX_BODY_BYTES="100000", **shared_vault(), **metrics) as server:
        yield server


async def say(server, user, text, *, at=0, conversation="pets", **headers):
    """Say something at one of the processes; return the answer."""
    async with server.client(user, url=server.urls[at]) as client:
        response = await client.post("/chat", json={"conversation": conversation, "text": text}, headers=headers)
    assert response.is_success, response.text
    return response


async def history(server, user, *, at=0, conversation="pets"):
    async with server.client(user, url=server.urls[at]) as client:
        return [each["text"] for each in (await client.get(f"/chat/{conversation}")).raise_for_status().json()]


async def test_a_conversation_goes_on_at_the_other_process(own_app, token):
    ann = f"ann-{token}"
    await say(own_app, ann, BIRDS, at=0)
    answer = (await say(own_app, ann, "Which birds do I keep?", at=1)).json()["text"]
    assert "African Grey parrots" in answer
    both = [await history(own_app, ann, at=at) for at in (0, 1)]
    assert both[0] == both[1]
    assert both[0][::2] == [BIRDS, "Which birds do I keep?"]


async def test_conversations_and_memories_of_others_are_not_read_whatever_they_are_called(own_app, token):
    ann, bob = f"ann-{token}", f"bob-{token}"
    await say(own_app, ann, BIRDS)
    for at in (0, 1):
        assert BIRDS not in await history(own_app, bob, at=at)
        assert "parrots" not in (await say(own_app, bob, f"Which birds do I keep, {at}?", at=at)).text
        async with own_app.client(bob, url=own_app.urls[at]) as client:
            assert "parrots" not in (await client.get("/memory/query")).text
            assert (await client.get("/memory/query", params={"user_id": ann})).status_code == 403
    assert await history(own_app, ann) == (await history(own_app, ann, at=1))


async def test_an_answer_streams_as_events(own_app, token):
    ann = f"ann-{token}"
    response = await say(own_app, ann, BIRDS, **EVENTS)
    assert response.headers["content-type"].startswith("text/event-stream")
    told = [json.loads(line.removeprefix("data: ")) for line in response.text.splitlines() if line.startswith("data")]
    assert "".join(piece.get("text", "") for piece in told) == (await history(own_app, ann))[-1]
    assert response.text.endswith("event: end\ndata: {}\n\n")


async def test_a_message_that_comes_to_both_at_once_is_one_turn(own_app, token):
    ann = f"ann-{token}"
    await asyncio.gather(*(say(own_app, ann, BIRDS, at=at) for at in (0, 1)))
    assert (await history(own_app, ann))[::2] == [BIRDS]


async def test_turns_of_one_conversation_at_the_same_time_all_stay_in_it(own_app, token):
    ann, texts = f"ann-{token}", [f"My parrot number {number} is called Bird{number}z." for number in range(4)]
    await asyncio.gather(*(say(own_app, ann, text, at=at % 2) for at, text in enumerate(texts)))
    both = [await history(own_app, ann, at=at) for at in (0, 1)]
    assert both[0] == both[1]
    assert sorted(both[0][::2]) == texts
    assert len(both[0]) == 2 * len(texts)


async def test_each_request_is_a_line_of_the_log_without_what_the_user_wrote(own_app, folder, token):
    async with own_app.client(f"ann-{token}") as ann:
        assert (await ann.get(f"/chat/my divorce {token}")).is_success
        assert (await ann.get("/memory/query", params={"tags": f"divorced {token}"})).is_success
    lines = "".join(log.read_text() for log in folder.glob("*.log"))
    assert token not in lines
    for route in ("/chat/{conversation}", "/memory/query"):
        assert f"method=GET route={route} status=200" in lines


async def test_a_scraper_without_a_credential_is_told_of_both_processes(own_app, metrics, token):
    async with local_client(f"http://127.0.0.1:{metrics['DISCREET_METRICS_PORT']}", {}) as scraper:
        before = requests_in((await scraper.get("/metrics")).text)
        for at in (0, 1):
            await say(own_app, f"ann-{token}", f"I keep {at} parrots.", at=at)
        assert requests_in((await scraper.get("/metrics")).text) == before + 2


def requests_in(exposition):
    name = 'discreet_request_seconds_count{method="POST",route="/chat",status="200"}'
    return sum(float(line.rpartition(" ")[2]) for line in exposition.splitlines() if line.startswith(name))


async def test_who_is_not_known_is_refused_before_anything_is_read(own_app):
    said = {"conversation": "pets", "text": BIRDS}
    expired = own_app.headers("ann", ttl=timedelta(hours=-1))
    for headers in ({}, {"authorization": "Bearer none"}, expired, {"x-auth-scheme": "langsmith"}):
        async with local_client(own_app.url, headers) as client:
            assert (await client.post("/chat", json=said)).status_code == 401
            assert (await client.post("/chat", content=b"{")).status_code == 401
            assert (await client.get("/chat/pets")).status_code == 401


async def test_what_is_too_long_or_no_message_is_refused(own_app, token):
    async with own_app.client(f"ann-{token}") as ann:
        for status, body in ((422, {"conversation": "c", "text": "x" * 10_001}), (422, {"text": BIRDS}), (422, [])):
            assert (await ann.post("/chat", json=body)).status_code == status
        assert (await ann.post("/chat", json={"conversation": "c", "text": "x" * 100_000})).status_code == 413
        assert (await ann.get("/chat/c")).json() == []


async def test_nothing_personal_is_left_when_it_has_ended(own_app, folder, dsn):
    plants = Planter()
    token = plants.keep("word")
    ann, bob = (plants.value(f"identity of {who}", "chat", "email") for who in ("ann", "bob"))
    for number, kind in enumerate(("email", "phone", "card", "iban", "address", "token")):
        at, conversation = number % 2, plants.value(f"conversation {number}", "chat", "email")
        value = plants.value("text", kind, kind)
        headers = EVENTS if number % 3 == 0 else {}
        agent = plants.value(f"user agent {number}", "chat", "email")
        text = f"Keep in mind that I have {value} and {token}."
        await say(own_app, ann, text, at=at, conversation=conversation, **{**headers, "user-agent": agent})
        seen = await history(own_app, ann, at=1 - at, conversation=conversation)
        assert (seen[0] == text) == (kind != "token")  # who said it sees it at the other process too, secrets apart
        async with own_app.client(ann, url=own_app.urls[at]) as client:
            await client.get("/memory/query", params={"session_id": plants.value("session", str(number), "email")})
            await client.post("/chat", json={"conversation": conversation, "text": [plants.value("list", kind, kind)]})
        assert await history(own_app, bob, at=at, conversation=conversation) == []
    async with own_app.client("boss", admin=True) as admin:
        assert plants.within((await admin.get("/memory/metrics")).content) == set()
    left = search(own_app.places(), plants)
    assert left.leaks == {}
    assert "table checkpoint_messages" in left.kept[token]

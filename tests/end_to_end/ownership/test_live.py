"""What runs, streams and waits, and ids of one's own together with somebody else's."""

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from ownership_battery.things import all_of, make_things, post
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

pytestmark = pytest.mark.asyncio(loop_scope="session")

ROOT = Path(__file__).resolve().parents[3]

SECONDS = 3
"""How long is listened for what must not come."""

EVENTS = {"channels": ["values", "updates", "messages", "lifecycle", "custom", "tasks", "input", "tools"]}


async def heard(client, method, path, **more):
    """Return status and text of a stream, as far as it comes in a while."""
    text, status = "", None

    async def listen():
        nonlocal text, status
        async with client.stream(method, path, **more) as response:
            status = response.status_code
            async for piece in response.aiter_text():
                text += piece

    with suppress(TimeoutError):
        await asyncio.wait_for(listen(), SECONDS)
    return status, text


@asynccontextmanager
async def running(client, word, **more):
    """Start a run that takes a while; end it afterwards."""
    thread = (await post(client, "/threads"))["thread_id"]
    body = {"assistant_id": "waiting", "input": {"said": word, "seconds": 60}, "stream_resumable": True}
    run = (await post(client, f"/threads/{thread}/runs", **body, **more))["run_id"]
    async with asyncio.timeout(30):
        while (await status_of(client, thread, run)) == "pending":  # noqa: ASYNC110  # the run is in another process
            await asyncio.sleep(0.1)
    yield thread, run
    await client.post(f"/threads/{thread}/runs/{run}/cancel")


async def status_of(client, thread, run):
    return (await client.get(f"/threads/{thread}/runs/{run}")).json()["status"]


async def test_nobody_else_cancels_a_run(ann, bob, bobs, token):
    async with running(ann, token) as (thread, run):
        for path, body in (
            (f"/threads/{thread}/runs/{run}/cancel", None),
            (f"/threads/{thread}/runs/{run}/cancel?wait=true&action=rollback", None),
            (f"/threads/{bobs.thread_id}/runs/{run}/cancel", None),
            ("/runs/cancel", {"thread_id": thread, "run_ids": [run]}),
            ("/runs/cancel", {"thread_id": bobs.thread_id, "run_ids": [run]}),
            ("/runs/cancel", {"status": "all"}),
            ("/runs/cancel?action=rollback", {"status": "running"}),
        ):
            response = await bob.post(path, json=body)
            assert response.status_code == 404, response.text
            assert await status_of(ann, thread, run) == "running"
        assert (await ann.post("/runs/cancel", json={"status": "all"})).status_code == 204
        assert await status_of(ann, thread, run) == "interrupted"


async def test_a_run_of_a_new_assistant_does_not_end_those_of_others(ann, bob, token):
    """Deleting an assistant ends its runs; those of the server's own assistants are everybody's."""
    async with running(ann, token) as (thread, run):
        assistant = await post(bob, "/assistants", graph_id="waiting")
        assert (await bob.delete(f"/assistants/{assistant['assistant_id']}")).status_code == 204
        shared = (await ann.get(f"/threads/{thread}/runs/{run}")).json()["assistant_id"]
        assert (await bob.delete(f"/assistants/{shared}")).status_code == 404
        assert (await bob.patch(f"/assistants/{shared}", json={"name": "changed"})).status_code == 404
        assert await status_of(ann, thread, run) == "running"


@pytest.mark.parametrize("since", [{}, {"last-event-id": "-"}, {"last-event-id": "0"}])
async def test_streams_are_their_owners(ann, bob, bobs, things, since):
    t = things
    paths = [f"/threads/{t.thread_id}/runs/{t.run_id}/stream", f"/threads/{t.thread_id}/stream?stream_modes=run_modes"]
    for path in [*paths, f"/threads/{bobs.thread_id}/runs/{t.run_id}/stream"]:
        _, text = await heard(bob, "GET", path, headers=since)
        assert t.word not in text
        assert t.identity not in text
    _, text = await heard(ann, "GET", paths[0], headers={"last-event-id": "0"})
    assert t.word in text


async def test_events_of_the_protocol_are_their_owners(ann, bob, things):
    path = f"/threads/{things.thread_id}/stream/events"
    _, text = await heard(bob, "POST", path, json=EVENTS)
    assert things.word not in text
    _, text = await heard(ann, "POST", path, json=EVENTS)
    assert things.word in text


async def talk(server, subject, things, methods):
    """Return what the server says to commands on the thread that waits, until it hangs up or falls silent."""
    params = {
        "subscription.subscribe": EVENTS,
        "run.start": {"assistant_id": "waiting", "input": {"said": "x"}},
        "agent.getTree": {},
        "input.respond": {"namespace": [], "interrupt_id": things.interrupt_id, "response": "yes"},
    }
    url, said = server.url.replace("http", "ws") + f"/threads/{things.asking_id}/stream/events", ""
    async with connect(url, additional_headers=server.headers(subject)) as socket:
        with suppress(ConnectionClosed, TimeoutError):
            for number, method in enumerate(methods):
                await socket.send(json.dumps({"id": number, "method": method, "params": params[method]}))
            while True:
                said += str(await asyncio.wait_for(socket.recv(), SECONDS))
    return said


async def test_nobody_else_is_heard_or_answered_by_a_websocket(ownership_server, ann, things):
    before = await all_of(ann, things)
    methods = ("subscription.subscribe", "run.start", "agent.getTree", "input.respond")
    said = await talk(ownership_server, "bob@example.com", things, methods)
    assert things.word not in said
    assert things.identity not in said
    assert await all_of(ann, things) == before


async def test_a_websocket_hears_its_owner(ownership_server, ann):
    mine = await make_things(ann)
    said = await talk(ownership_server, "ann@example.com", mine, ("subscription.subscribe", "input.respond"))
    assert mine.word in said


async def test_without_a_token_no_websocket_is_opened(ownership_server, things):
    url = ownership_server.url.replace("http", "ws") + f"/threads/{things.thread_id}/stream/events"
    with pytest.raises(InvalidStatus):
        async with connect(url):
            pytest.fail("opened")


async def test_a_run_of_somebody_else_is_not_deleted_by_way_of_ones_own_thread(ann, bob, bobs, things):
    before = await all_of(ann, things)
    for method, tail in (("DELETE", ""), ("GET", ""), ("GET", "/join"), ("POST", "/cancel")):
        response = await bob.request(method, f"/threads/{bobs.thread_id}/runs/{things.run_id}{tail}")
        assert response.status_code == 404 or things.word not in response.text
    assert await all_of(ann, things) == before
    assert before[f"/threads/{things.thread_id}/history?limit=100"]


async def test_a_run_is_deleted_by_its_owner(ann):
    mine = await make_things(ann)
    assert (await ann.delete(f"/threads/{mine.thread_id}/runs/{mine.run_id}")).status_code == 204


async def test_a_stateless_run_is_nobody_elses(ann, bob, token):
    run = await post(ann, "/runs", assistant_id="waiting", input={"said": token, "seconds": 5})
    at = f"/threads/{run['thread_id']}"
    for path in (at, f"{at}/state", f"{at}/runs", f"{at}/runs/{run['run_id']}", f"{at}/runs/{run['run_id']}/join"):
        response = await bob.get(path)
        assert response.status_code == 404
        assert token not in response.text
    assert (await ann.get(f"{at}/runs/{run['run_id']}")).is_success


async def test_nobody_gives_a_thing_away_or_takes_one(ann, bob, things, bobs):
    forged = {"metadata": {"owner": things.identity, "created_by": "system"}}
    at = f"/threads/{bobs.thread_id}"
    assert (await bob.patch(at, json=forged)).json()["metadata"]["owner"] == bobs.identity
    assert (await post(bob, "/threads", **forged))["metadata"]["owner"] == bobs.identity
    run = await post(bob, f"{at}/runs", assistant_id="waiting", input={}, config=forged, **forged)
    assert run["metadata"]["owner"] == bobs.identity
    new = await post(
        bob, "/runs", assistant_id="waiting", input={"seconds": 5}, on_completion="keep", config=forged, **forged
    )
    assert (await bob.get(f"/threads/{new['thread_id']}")).json()["metadata"]["owner"] == bobs.identity
    cron = (await bob.patch(f"/runs/crons/{bobs.cron_id}", json=forged)).json()
    assert cron["metadata"]["owner"] == bobs.identity
    for assistant in (
        await post(bob, "/assistants", graph_id="waiting", **forged),
        (await bob.patch(f"/assistants/{bobs.assistant_id}", json=forged)).json(),
    ):
        assert assistant["metadata"]["owner"] == bobs.identity
        assert (await ann.get(f"/assistants/{assistant['assistant_id']}")).status_code == 404


async def test_the_servers_own_assistants_are_everybodys_to_use(ann, bob):
    for client in (ann, bob):
        found = (await client.post("/assistants/search", json={"metadata": {"created_by": "system"}})).json()
        assert {assistant["graph_id"] for assistant in found} == {"agent", "waiting"}
        assert (await client.get(f"/assistants/{found[0]['assistant_id']}/schemas")).is_success


async def test_a_run_works_with_the_memories_of_who_calls(ann, bob, things, bobs):
    for said in (
        {},
        {"context": {"user_id": "ann@example.com"}},
        {"config": {"configurable": {"user_id": things.identity}}},
    ):
        assert (await post(ann, "/runs/wait", assistant_id="waiting", input={}, **said))["user"] == things.identity
    assert (await post(bob, "/runs/wait", assistant_id="waiting", input={}))["user"] == bobs.identity
    response = await bob.post(
        "/runs/wait", json={"assistant_id": "waiting", "input": {}, "context": {"user_id": "ann@example.com"}}
    )
    assert response.status_code == 403


async def test_what_one_tells_the_assistant_is_not_known_to_another(ann, bob):
    async def ask(client, text):
        body = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": text}]}}
        return (await post(client, "/runs/wait", **body))["messages"][-1]["content"]

    await ask(ann, "I keep two African Grey parrots.")
    assert "parrot" in await ask(ann, "Which birds do I have?")
    assert "parrot" not in await ask(bob, "Which birds do I have?")


async def test_what_is_read_back_from_the_store_can_be_said_again(bob, token):
    await bob.put("/store/items", json={"namespace": ["a", token], "key": "k", "value": {"n": 1}})
    (item,) = (await bob.post("/store/items/search", json={"namespace_prefix": ["a"], "filter": {"n": 1}})).json()[
        "items"
    ]
    again = (await bob.get("/store/items", params={"namespace": ".".join(item["namespace"]), "key": "k"})).json()
    assert again["namespace"] == item["namespace"]
    (listed,) = (await bob.post("/store/namespaces", json={"suffix": [token]})).json()["namespaces"]
    assert listed == item["namespace"]
    await bob.request("DELETE", "/store/items", json={"namespace": listed, "key": "k"})
    assert (await bob.get("/store/items", params={"namespace": f"a.{token}", "key": "k"})).json() is None


async def test_the_client_of_the_access_page(ownership_server):
    page = (ROOT / "docs" / "access.md").read_text(encoding="utf-8")
    code, names = page.split("```python\n")[1].split("```")[0], {}
    exec(compile(code, "access.md", "exec"), names)
    token = ownership_server.headers("carol")["authorization"].removeprefix("Bearer ")
    owner, namespace = await names["main"](ownership_server.url, token)
    assert namespace == ["users", owner, "notes"]


async def test_the_studio_is_a_user_of_its_own(ownership_server, ann, things):
    before = await all_of(ann, things)
    async with ownership_server.client("ann@example.com") as studio:
        studio.headers["x-auth-scheme"] = "langsmith"
        assert (await studio.get(f"/threads/{things.thread_id}")).status_code == 404
        assert things.word not in (await studio.post("/threads/search", json={"limit": 1000})).text
        own = await post(studio, "/threads", metadata={"owner": things.identity})
        assert own["metadata"]["owner"] not in {things.identity, "langgraph-studio-user"}
        asked = await post(studio, "/runs/wait", assistant_id="waiting", input={})
        assert asked["user"] == own["metadata"]["owner"]
    assert (await ann.get(f"/threads/{own['thread_id']}")).status_code == 404
    assert await all_of(ann, things) == before


async def test_neither_rows_nor_logs_have_a_name(ownership_server, things):
    kept = [path for path in (ownership_server.project / ".langgraph_api").rglob("*") if path.is_file()]
    log = (ownership_server.project / "server.log").read_bytes()
    assert kept
    assert things.identity.encode() in b"".join(path.read_bytes() for path in kept)
    for text in (log, *(path.read_bytes() for path in kept)):
        assert b"ann@example.com" not in text
        assert b"bob@example.com" not in text

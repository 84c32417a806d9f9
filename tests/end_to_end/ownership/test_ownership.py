"""Whether everybody's things are left alone by everybody else: all operations, LangGraph's SDK, what is live, and crons.

They are one file, because the server that all of them need takes longer to start than most of them to run.
"""

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest
from kit.places import files
from kit.search import Words, search
from langgraph_sdk import get_client
from langgraph_sdk.errors import LangGraphError
from ownership_battery.checks import (
    check_administrators_only,
    check_open_tells_nothing,
    check_others_get_nothing,
    check_owner_gets_it,
    check_stranger_is_refused,
    filled,
    named,
    operations_of,
)
from ownership_battery.lost_threads import check_goes_on, check_only_its_owner_goes_on, make_lost_thread
from ownership_battery.operations import ADMINISTRATORS, ATTEMPTS, CLOSED, FILES, OPEN, PERSONAL, STREAMS
from ownership_battery.sdk_calls import CALLS, ENDS
from ownership_battery.things import begin_to_ask, end_a_run, looks_at, make_things, part_of, post
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from discreet.storage.embedded import lease_server

pytestmark = pytest.mark.asyncio(loop_scope="session")

ROOT = Path(__file__).resolve().parents[3]

# Every operation of the API

TABLE = {attempt.operation for attempt in ATTEMPTS} | ADMINISTRATORS | PERSONAL
UNDOCUMENTED = ("/memory/admin", "/memory/me")
"""Pages are not in the OpenAPI, nor is what is no HTTP."""


@pytest.mark.slow
async def test_every_route_of_the_server_is_in_the_table(ownership_server):
    routes = {tuple(route) for route in json.loads((ownership_server.folder / "routes.json").read_text())}
    known = {named(operation) for operation in TABLE} | STREAMS | OPEN | CLOSED | FILES
    assert routes - known == set(), "These are not tested: put them into ownership_battery/operations.py"
    assert known - routes == set(), "The server has these no longer"


@pytest.mark.slow
async def test_every_operation_of_the_openapi_is_in_the_table(nobody):
    documented = operations_of((await nobody.get("/openapi.json")).json())
    known = {named(operation) for operation in TABLE} | STREAMS | OPEN | CLOSED | FILES
    assert documented - known == set(), "These are not tested: put them into ownership_battery/operations.py"
    ours = {named(operation) for operation in TABLE} | STREAMS
    gone = {each for each in ours - documented if each[0] != "WEBSOCKET" and not each[1].startswith(UNDOCUMENTED)}
    assert gone == set(), "The server has these no longer"


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=str)
async def test_nobody_gets_at_what_is_somebody_elses(carol, things, untouched, attempt):
    await check_others_get_nothing(carol, things, untouched, attempt)


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param(attempt, marks=() if attempt.only_looks else pytest.mark.slow)  # new things for each
        for attempt in ATTEMPTS
        if attempt.owner
    ],
    ids=str,
)
async def test_their_owner_does(ann, carol, things, attempt):
    owner = ann
    if not attempt.only_looks:
        owner, things = carol, await make_things(carol)
    await check_owner_gets_it(owner, things, attempt)


async def test_an_export_is_whole_and_has_things_of_each_kind(ann, things):
    exported = [json.loads(line) for line in (await ann.get("/memory/export")).text.splitlines()]
    assert exported[-1]["kind"] == "manifest"
    assert exported[-1]["data"]["unreadable"] == {}
    assert {line["kind"] for line in exported if things.word in str(line["data"])} >= {"memories", "items", "proposals"}
    assert {"threads", "delegations", "audit"} <= {line["kind"] for line in exported}


async def test_an_erasure_leaves_nothing_of_hers_and_all_of_others(carol, untouched):
    hers = await make_things(carol)
    receipt = (await post(carol, "/memory/erasure", scope="all"))["receipt"]
    assert receipt["counts"]["LangGraph server"] == {"assistants": 1, "crons": 2, "threads": 2}
    for paths in looks_at(hers).values():
        for path, body in paths:
            answer = await (carol.get(path) if body is None else carol.post(path, json=body))
            assert hers.word not in answer.text, path
    exported = [json.loads(line) for line in (await carol.get("/memory/export")).text.splitlines()]
    assert [line["kind"] for line in exported if hers.word in str(line["data"])] == []
    await untouched.check()


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=str)
async def test_without_a_token_nothing_is_done(nobody, things, untouched, attempt):
    await check_stranger_is_refused(nobody, things, attempt)


@pytest.mark.parametrize("operation", sorted(OPEN), ids=str)
async def test_what_is_open_tells_nothing_of_anybody(nobody, things, operation):
    await check_open_tells_nothing(nobody, things, operation)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("operation", sorted(CLOSED), ids=str)
async def test_what_is_closed_is_closed_to_everybody(strangers, ann, things, untouched, operation):
    method, path = operation
    for who, client in {**strangers, "ann": ann}.items():
        response = await client.request(method, filled(path, things))
        assert response.status_code in {401, 403, 404}, f"{who}: {response.text}"
        assert things.word not in response.text
    await untouched.check()


@pytest.mark.fast_cases(8)
@pytest.mark.parametrize("operation", sorted(ADMINISTRATORS | PERSONAL), ids=str)
async def test_what_takes_an_administrator_takes_no_other(strangers, bob, things, untouched, operation):
    await check_administrators_only({**strangers, "bob": bob}, things, operation)
    if operation[0] != "GET":
        await untouched.check("memory")


# LangGraph's SDK

PARTS = ("threads", "runs", "assistants", "crons", "store")
LOOKS = ("get", "search", "count", "list")
"""How calls begin that change nothing, whoever makes them."""


async def test_every_call_of_the_sdk_is_in_the_table():
    client = get_client(url="http://127.0.0.1:1", api_key=None)
    parts = {name for name in vars(client) if not name.startswith("_")} - {"http"}
    assert parts == set(PARTS)
    calls = {
        f"{part}.{name}"
        for part in PARTS
        for name in dir(type(getattr(client, part)))
        if not name.startswith("_") and callable(getattr(type(getattr(client, part)), name))
    }
    assert calls - CALLS.keys() == set(), "These are not tested: put them into ownership_battery/sdk_calls.py"
    assert CALLS.keys() - calls == set(), "The SDK has these no longer"


@pytest.mark.fast_cases(6)
@pytest.mark.parametrize("call", CALLS)
async def test_no_call_gets_at_what_is_somebody_elses(carols_sdk, things, untouched, call):
    end, make = CALLS[call]
    if end is ENDS:
        with pytest.raises((LangGraphError, httpx.HTTPStatusError)) as caught:
            await make(carols_sdk, things)
        said = str(caught.value)
        assert things.word not in said
    else:
        said = str(await make(carols_sdk, things))
        mine = {things.thread_id, things.run_id}  # which Carol has named
        assert {secret for secret in things.secrets() - mine if secret in said} == set()
    part, _, name = call.partition(".")
    if not name.startswith(LOOKS):
        await untouched.check(part_of(f"/{part}"))


# What runs, streams and waits, and ids of one's own together with somebody else's

SECONDS = 60
"""By then the server has hung up or said what is waited for, also on a machine that has much to do."""

EVENTS = {"channels": ["values", "updates", "messages", "lifecycle", "custom", "tasks", "input", "tools"]}


async def heard(client, method, path, *, until=None, **more):
    """Return the text of a stream to its end, or until it says a word."""
    text = ""
    async with asyncio.timeout(SECONDS), client.stream(method, path, **more) as response:
        async for piece in response.aiter_text():
            text += piece
            if until and until in text:
                break
    return text


@asynccontextmanager
async def running(client, word, **more):
    """Start a run that takes a while; end it afterwards."""
    thread = (await post(client, "/threads"))["thread_id"]
    body = {"assistant_id": "waiting", "input": {"said": word, "seconds": 60}, "stream_resumable": True}
    run = (await post(client, f"/threads/{thread}/runs", **body, **more))["run_id"]
    async with asyncio.timeout(SECONDS):
        while (await status_of(client, thread, run)) == "pending":  # the run is in another process
            await asyncio.sleep(0.1)
    try:
        yield thread, run
    finally:
        await client.post(f"/threads/{thread}/runs/{run}/cancel")


async def status_of(client, thread, run):
    return (await client.get(f"/threads/{thread}/runs/{run}")).json()["status"]


async def test_nobody_else_cancels_a_run(carol, bob, bobs, token):
    async with running(carol, token) as (thread, run):
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
            assert await status_of(carol, thread, run) == "running"
        assert (await carol.post("/runs/cancel", json={"status": "all"})).status_code == 204
        assert await status_of(carol, thread, run) == "interrupted"


@pytest.mark.slow
async def test_a_run_of_a_new_assistant_does_not_end_those_of_others(carol, bob, token):
    """Deleting an assistant ends its runs; those of the server's own assistants are everybody's."""
    async with running(carol, token) as (thread, run):
        assistant = await post(bob, "/assistants", graph_id="waiting")
        assert (await bob.delete(f"/assistants/{assistant['assistant_id']}")).status_code == 204
        shared = (await carol.get(f"/threads/{thread}/runs/{run}")).json()["assistant_id"]
        assert (await bob.delete(f"/assistants/{shared}")).status_code == 404
        assert (await bob.patch(f"/assistants/{shared}", json={"name": "changed"})).status_code == 404
        assert await status_of(carol, thread, run) == "running"


@pytest.mark.slow
@pytest.mark.parametrize("since", [{}, {"last-event-id": "-"}, {"last-event-id": "0"}])
async def test_streams_are_their_owners(ann, bob, bobs, things, since):
    t = things
    paths = [f"/threads/{t.thread_id}/runs/{t.run_id}/stream", f"/threads/{t.thread_id}/stream?stream_modes=run_modes"]
    for path in [*paths, f"/threads/{bobs.thread_id}/runs/{t.run_id}/stream"]:
        text = await heard(bob, "GET", path, headers=since)
        assert t.word not in text
        assert t.identity not in text
    assert t.word in await heard(ann, "GET", paths[0], headers={"last-event-id": "0"}, until=t.word)


async def test_events_of_the_protocol_are_their_owners(ann, bob, things):
    path = f"/threads/{things.thread_id}/stream/events"
    assert things.word not in await heard(bob, "POST", path, json=EVENTS)
    assert things.word in await heard(ann, "POST", path, json=EVENTS, until=things.word)


async def talk(url, headers, interrupt_id, methods, until=None):
    """Return what the server says to commands on a thread that waits, until it hangs up or says a word."""
    params = {
        "subscription.subscribe": EVENTS,
        "run.start": {"assistant_id": "waiting", "input": {"said": "x"}},
        "agent.getTree": {},
        "input.respond": {"namespace": [], "interrupt_id": interrupt_id, "response": "yes"},
    }
    said = ""
    async with asyncio.timeout(SECONDS), connect(url, additional_headers=headers) as socket:
        with suppress(ConnectionClosed):
            for number, method in enumerate(methods):
                await socket.send(json.dumps({"id": number, "method": method, "params": params[method]}))
            while not (until and until in said):
                said += str(await socket.recv())
    return said


async def test_nobody_else_is_heard_or_answered_by_a_websocket(ownership_server, things, untouched):
    methods = ("subscription.subscribe", "run.start", "agent.getTree", "input.respond")
    headers = ownership_server.headers("bob@example.com")
    said = await talk(ownership_server.events(things.asking_id), headers, things.interrupt_id, methods)
    assert things.word not in said
    assert things.identity not in said
    await untouched.check()


@pytest.mark.slow
async def test_a_websocket_hears_its_owner(ownership_server, carol, token):
    thread, interrupt = await begin_to_ask(carol, token)
    methods = ("subscription.subscribe", "input.respond")
    headers = {"authorization": carol.headers["authorization"]}
    said = await talk(ownership_server.events(thread), headers, interrupt, methods, until=token)
    assert token in said


async def test_without_a_token_no_websocket_is_opened(ownership_server, things):
    with pytest.raises(InvalidStatus):
        async with connect(ownership_server.events(things.thread_id)):
            pytest.fail("opened")


@pytest.mark.slow
async def test_a_run_of_somebody_else_is_not_deleted_by_way_of_ones_own_thread(bob, bobs, things, untouched):
    for method, tail in (("DELETE", ""), ("GET", ""), ("GET", "/join"), ("POST", "/cancel")):
        response = await bob.request(method, f"/threads/{bobs.thread_id}/runs/{things.run_id}{tail}")
        assert response.status_code == 404 or things.word not in response.text
    await untouched.check()
    assert untouched[f"/threads/{things.thread_id}/history?limit=100"]


@pytest.mark.slow
async def test_a_run_is_deleted_by_its_owner(carol, token):
    thread, run, _ = await end_a_run(carol, token)
    assert (await carol.delete(f"/threads/{thread}/runs/{run}")).status_code == 204


@pytest.mark.slow
async def test_a_stateless_run_is_nobody_elses(carol, bob, token):
    run = await post(carol, "/runs", assistant_id="waiting", input={"said": token, "seconds": 60})
    at = f"/threads/{run['thread_id']}"
    for path in (at, f"{at}/state", f"{at}/runs", f"{at}/runs/{run['run_id']}", f"{at}/runs/{run['run_id']}/join"):
        response = await bob.get(path)
        assert response.status_code == 404
        assert token not in response.text
    assert (await carol.get(f"{at}/runs/{run['run_id']}")).is_success
    assert (await carol.post(f"{at}/runs/{run['run_id']}/cancel?wait=true")).is_success


@pytest.mark.slow
async def test_a_thread_that_the_server_has_lost_is_still_its_owners(ownership_server, strangers, carol, bob, token):
    with lease_server(ownership_server.folder / ".discreet") as dsn:
        lost = await make_lost_thread(carol, dsn, token)
    await check_only_its_owner_goes_on(carol, [bob, strangers["the Studio"]], lost, token)


@pytest.mark.slow
async def test_a_thread_that_was_lost_may_be_made_by_its_owner(ownership_server, carol, token):
    with lease_server(ownership_server.folder / ".discreet") as dsn:
        lost = await make_lost_thread(carol, dsn, token)
    assert (await post(carol, "/threads", thread_id=lost))["thread_id"] == lost
    await check_goes_on(carol, lost, token)


@pytest.mark.slow
async def test_nobody_gives_a_thing_away_or_takes_one(carol, ann, things):
    forged = {"metadata": {"owner": things.identity, "created_by": "system"}}
    mine = await make_things(carol)
    at = f"/threads/{mine.thread_id}"
    assert (await carol.patch(at, json=forged)).json()["metadata"]["owner"] == mine.identity
    assert (await post(carol, "/threads", **forged))["metadata"]["owner"] == mine.identity
    run = await post(carol, f"{at}/runs", assistant_id="waiting", input={}, config=forged, **forged)
    assert run["metadata"]["owner"] == mine.identity
    body = {"assistant_id": "waiting", "input": {"seconds": 60}, "on_completion": "keep", "config": forged, **forged}
    new = await post(carol, "/runs", **body)
    assert (await carol.get(f"/threads/{new['thread_id']}")).json()["metadata"]["owner"] == mine.identity
    assert (await carol.post("/runs/cancel", json={"status": "all"})).status_code == 204
    cron = (await carol.patch(f"/runs/crons/{mine.cron_id}", json=forged)).json()
    assert cron["metadata"]["owner"] == mine.identity
    for assistant in (
        await post(carol, "/assistants", graph_id="waiting", **forged),
        (await carol.patch(f"/assistants/{mine.assistant_id}", json=forged)).json(),
    ):
        assert assistant["metadata"]["owner"] == mine.identity
        assert (await ann.get(f"/assistants/{assistant['assistant_id']}")).status_code == 404


async def test_the_servers_own_assistants_are_everybodys_to_use(ann, bob):
    for client in (ann, bob):
        found = (await client.post("/assistants/search", json={"metadata": {"created_by": "system"}})).json()
        assert {assistant["graph_id"] for assistant in found} == {"agent", "waiting"}
        assert (await client.get(f"/assistants/{found[0]['assistant_id']}/schemas")).is_success


@pytest.mark.slow
async def test_a_run_works_with_the_memories_of_who_calls(ann, bob, things, bobs):
    # One after the other: the development server may keep the thread of one of two stateless runs that end together.
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


@pytest.mark.slow
async def test_the_client_of_the_access_page(ownership_server):
    page = (ROOT / "docs" / "access.md").read_text(encoding="utf-8")
    code, names = page.split("```python\n")[1].split("```")[0], {}
    exec(compile(code, "access.md", "exec"), names)
    token = ownership_server.headers("carol")["authorization"].removeprefix("Bearer ")
    owner, namespace = await names["main"](ownership_server.url, token)
    assert namespace == ["users", owner, "notes"]


@pytest.mark.slow
async def test_the_studio_is_a_user_of_its_own(ownership_server, ann, things, untouched):
    async with ownership_server.client("ann@example.com") as studio:
        studio.headers["x-auth-scheme"] = "langsmith"
        assert (await studio.get(f"/threads/{things.thread_id}")).status_code == 404
        assert things.word not in (await studio.post("/threads/search", json={"limit": 1000})).text
        own = await post(studio, "/threads", metadata={"owner": things.identity})
        assert own["metadata"]["owner"] not in {things.identity, "langgraph-studio-user"}
        asked = await post(studio, "/runs/wait", assistant_id="waiting", input={})
        assert asked["user"] == own["metadata"]["owner"]
    assert (await ann.get(f"/threads/{own['thread_id']}")).status_code == 404
    await untouched.check()


# Crons

FORGED = {"langgraph_auth_permissions": ["users:name"], "langgraph_auth_user_id": "somebody"}


@pytest.mark.slow  # the server's crons come once a minute at most
@pytest.mark.parametrize("part", ["config", "context"])
async def test_a_cron_works_for_its_owner_whoever_it_says_it_is(ann, carol, things, token, part):
    said = {**FORGED, "langgraph_auth_user": {"identity": things.identity}, "user_id": f"carol-{token}@example.com"}
    made = await post(carol, "/threads")
    thread, identity = made["thread_id"], made["metadata"]["owner"]
    cron = await post(
        carol,
        f"/threads/{thread}/runs/crons",
        assistant_id="waiting",
        schedule="* * * * *",
        input={"said": "tick"},
        **({"config": {"configurable": said}} if part == "config" else {"context": said}),
    )
    runs = []
    try:
        async with asyncio.timeout(120):
            while not runs:
                await asyncio.sleep(1)
                runs = (await carol.get(f"/threads/{thread}/runs")).json()
    finally:
        assert (await carol.delete(f"/runs/crons/{cron['cron_id']}")).status_code == 204
    run = runs[-1]
    configurable = run["kwargs"]["config"]["configurable"]
    assert run["metadata"]["owner"] == identity
    assert configurable["user_id"] == identity
    assert configurable["langgraph_auth_user"]["identity"] == identity
    assert configurable["langgraph_auth_permissions"] == []
    assert (await ann.get(f"/threads/{thread}")).status_code == 404


# What is left behind


async def test_neither_rows_nor_logs_have_a_name(ownership_server, things):
    names, folder = Words(things.identity, "ann@example.com", "bob@example.com"), ownership_server.folder
    where: set[str] = set()
    async with asyncio.timeout(SECONDS):
        while not any(place.startswith(".langgraph_api") for place in where):  # rows are written every ten seconds
            await asyncio.sleep(0.1)
            found = search(files(folder, [folder / "server.log", *folder.glob(".langgraph_api/**/*")]), names).leaks
            where = found.get(things.identity, set())
    assert found.keys() == {things.identity}

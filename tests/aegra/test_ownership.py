"""Whether everybody's things are left alone by everybody else: each operation of Aegra's OpenAPI, and ours."""

import json
import re
from datetime import timedelta

import pytest
import pytest_asyncio
from kit.search import Words, search
from ownership_battery.lost_threads import check_only_its_owner_goes_on, make_lost_thread
from ownership_battery.operations import ADMINISTRATORS
from ownership_battery.things import post
from things import OPEN, STREAMS, TABLE, looks_at, make_things, seen

pytestmark = pytest.mark.asyncio(loop_scope="session")

RENAMED = {"{asking_id}": "{thread_id}", "{identity}": "{user}", "session/{thread_id}": "session/{session_id}"}
EVENTS = {"channels": ["values", "updates", "messages", "lifecycle", "custom", "tasks", "input", "tools"]}


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def things(ann):
    """What is Ann's."""
    return await make_things(ann)


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def untouched(ann, things):
    """Return what looks at Ann's things and fails if they are no longer what they were."""
    before = await seen(ann, things)
    assert {status for status, _ in before.values()} == {200}

    async def check():
        assert await seen(ann, things) == before

    yield check
    await check()


def named(operation):
    """Return an operation as the OpenAPI has it."""
    method, path = operation
    for ours, theirs in RENAMED.items():
        path = path.replace(ours, theirs)
    return method, path


async def send(client, attempt, things):
    """Make the attempt; return the answer, and what was sent."""
    path = re.sub(r"\{(\w+)\}", lambda name: getattr(things, name[1], name[1]), attempt.path)
    body, query = attempt.body(things), attempt.query(things)
    content = None if body is None else json.dumps(body)
    headers = {"content-type": "application/json"} if content else None
    response = await client.request(attempt.method, path, content=content, headers=headers, params=query)
    return response, f"{path} {content} {query}"


async def test_every_operation_of_the_openapi_has_a_row(nobody):
    paths = (await nobody.get("/openapi.json")).json()["paths"]
    documented = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    rows = {named(attempt.operation) for attempt in TABLE}
    others = {named(operation) for operation in ADMINISTRATORS} | STREAMS | OPEN
    assert documented - rows - others == set(), (
        "Nobody tried these as somebody else: put them into tests/aegra/things.py"
    )
    gone = {each for each in (rows | STREAMS) - documented if not each[1].startswith("/memory/admin")}
    assert gone == set(), "The server has these no longer"


@pytest.mark.parametrize("attempt", TABLE, ids=str)
async def test_nobody_gets_at_what_is_somebody_elses(carol, things, untouched, attempt):
    response, sent = await send(carol, attempt, things)
    assert response.status_code in attempt.told, response.text
    assert {secret for secret in things.secrets() if secret in response.text and secret not in sent} == set()
    if attempt.counts and attempt.path != "/assistants/count":  # where those of the server count too
        assert response.json() == 0
    if not attempt.only_looks:
        await untouched()


@pytest.mark.parametrize("attempt", [attempt for attempt in TABLE if attempt.owner and attempt.only_looks], ids=str)
async def test_their_owner_sees_them_at_the_other_process(ann_there, things, attempt):
    response, _ = await send(ann_there, attempt, things)
    assert response.status_code in attempt.owner, response.text


@pytest.mark.parametrize("attempt", TABLE, ids=str)
async def test_without_a_token_nothing_is_done(nobody, things, attempt):
    response, sent = await send(nobody, attempt, things)
    assert response.status_code == 401, response.text
    assert {secret for secret in things.secrets() if secret in response.text and secret not in sent} == set()


@pytest.mark.parametrize("operation", sorted(ADMINISTRATORS), ids=str)
async def test_what_takes_an_administrator_takes_no_other(bob, nobody, things, operation):
    method, path = operation
    body = {"json": {}} if method == "PATCH" else {}
    path = re.sub(r"\{(\w+)\}", lambda name: getattr(things, name[1], name[1]), path)
    for client in (bob, nobody):
        response = await client.request(method, path, **body)
        assert response.status_code in {303, 307, 401, 403, 415, 422}, response.text
        assert things.word not in response.text


@pytest.mark.parametrize("operation", sorted(OPEN), ids=str)
async def test_what_is_open_tells_nothing_of_anybody(nobody, things, operation):
    response = await nobody.get(operation[1])
    assert response.is_success, response.text
    assert not any(secret in response.text for secret in things.secrets())


async def test_events_of_a_thread_are_its_owners(bob, things):
    response = await bob.post(f"/threads/{things.thread_id}/stream/events", json=EVENTS)
    assert response.status_code == 404


async def test_an_expired_token_is_none(server, nobody):
    headers = server.headers("ann@example.com", ttl=timedelta(hours=-1))
    assert (await nobody.get("/threads", headers=headers)).status_code == 401


async def test_a_run_works_with_the_memories_of_who_calls(ann, bob, things):
    async def user(client, **said):
        return (await post(client, "/runs/wait", assistant_id="waiting", input={"said": "x"}, **said))["user"]

    assert await user(ann) == await user(ann, context={"user_id": "ann@example.com"}) == things.identity
    bobs = await user(bob)
    assert bobs != things.identity
    # Aegra lays a checkpoint over `configurable`.
    assert (
        await user(bob, checkpoint={"user_id": things.identity, "langgraph_auth_user": {"identity": things.identity}})
        == bobs
    )


@pytest.mark.parametrize("part", ["config", "context", "checkpoint"])
async def test_nobody_gives_themselves_permissions(bob, part):
    forged = {"langgraph_auth_permissions": ["memory:administer"], "__pregel_task_id": "x"}
    said = {"config": {"configurable": forged}} if part == "config" else {part: forged}
    state = await post(bob, "/runs/wait", assistant_id="waiting", input={"said": "x"}, **said)
    assert state["permissions"] == []


async def test_an_administrator_has_theirs(server):
    async with server.client("root@example.com", admin=True) as admin:
        state = await post(admin, "/runs/wait", assistant_id="waiting", input={"said": "x"})
    assert state["permissions"] == ["memory:administer"]


async def test_a_thread_is_called_by_a_uuid_only(carol):
    for thread_id in ("carol-and-me", "0A1B2C3D-1111-4222-8333-444455556666"):
        assert (await carol.post("/threads", json={"thread_id": thread_id})).status_code == 422
        run = {"assistant_id": "waiting", "input": {"said": "x"}}
        assert (await carol.post(f"/threads/{thread_id}/runs/wait", json=run)).status_code == 404


async def test_an_erasure_leaves_nothing_of_hers_and_all_of_others(carol, untouched):
    hers = await make_things(carol)
    counts = (await post(carol, "/memory/erasure", scope="all"))["receipt"]["counts"]["Aegra"]
    assert counts == {"assistants": 1, "crons": 2, "threads": 2}
    for path, body in looks_at(hers):
        answer = await (carol.get(path) if body is None else carol.post(path, json=body))
        assert hers.word not in answer.text, path
    await untouched()


async def test_neither_rows_nor_logs_nor_redis_have_a_name(server, things):
    names = Words(things.identity, "ann@example.com", "bob@example.com")
    assert search(server.everything(), names).leaks.keys() == {things.identity}


async def test_a_thread_that_the_server_has_lost_is_still_its_owners(server, carol, bob, token):
    lost = await make_lost_thread(carol, server.databases[1], token)
    await check_only_its_owner_goes_on(carol, [bob], lost, token)

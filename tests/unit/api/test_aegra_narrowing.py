"""What Aegra would believe of a client, and is not told."""

import json

import pytest

from discreet.api.aegra.narrowing import Narrowed, narrowed
from discreet.api.ingress.routes import Kind
from discreet.errors import InvalidRequestError, NotFoundError, ThreadBusyError
from discreet.state.request_ref import REQUEST_REF

THREAD = "11111111-2222-4333-8444-555555555555"
FORGED = {"langgraph_auth_permissions": ["memory:administer"], "__pregel_task_id": "x"}


def test_keys_that_servers_keep_for_themselves_go_and_ours_stay():
    body = {
        "config": {
            "configurable": {**FORGED, REQUEST_REF: "r", "note": 1},
            "callbacks": [],
            "run_id": "x",
            "tags": ["t"],
        }
    }
    kept = narrowed(body, Kind.RUN)
    assert kept["config"] == {"configurable": {REQUEST_REF: "r", "note": 1}, "tags": ["t"]}
    assert narrowed({"context": {**FORGED, "note": 1}}, Kind.ASSISTANT)["context"] == {"note": 1}


def test_a_checkpoint_names_a_checkpoint_and_no_user():
    said = {"checkpoint_id": "c", "checkpoint_ns": "", "user_id": "u_ann", "thread_id": THREAD, **FORGED}
    assert narrowed({"checkpoint": said}, Kind.PLAIN)["checkpoint"] == {"checkpoint_id": "c", "checkpoint_ns": ""}


def test_a_command_is_treated_as_the_run_that_it_begins():
    params = {"assistant_id": "a", "config": {"configurable": FORGED}, "checkpoint": {"user_id": "u_ann"}}
    body = narrowed({"id": 1, "method": "run.start", "params": params}, Kind.COMMAND)
    assert body["params"] == {"assistant_id": "a", "config": {"configurable": {}}, "checkpoint": {}}


@pytest.mark.parametrize(
    "run",
    [
        {"context": {"note": 1}, "config": {"configurable": {"note": 2}}},
        {"multitask_strategy": "interrupt"},
        {"multitask_strategy": "rollback"},
        {"multitaskStrategy": "anything"},
        {"multitask_strategy": ["enqueue"]},
    ],
)
def test_what_aegra_would_take_and_not_do_is_refused(run):
    with pytest.raises(InvalidRequestError):
        narrowed(run, Kind.RUN)
    with pytest.raises(InvalidRequestError):
        narrowed({"id": 1, "method": "run.start", "params": run}, Kind.COMMAND)


def test_webhooks_are_left_out():
    assert narrowed({"schedule": "* * * * *", "webhook": "https://<EMAIL:A>/"}, Kind.CRON) == {"schedule": "* * * * *"}


async def ask(method, path, body, *, busy=False):
    """Return the body that gets through."""
    got = []

    async def app(scope, receive, send):
        assert scope["type"] == "http"
        got.append(json.loads((await receive())["body"] or b"null"))

    async def is_busy(thread_id):
        assert thread_id == THREAD
        return busy

    async def receive():
        return {"type": "http.request", "body": json.dumps(body).encode()}

    scope = {"type": "http", "method": method, "path": path, "headers": []}
    await Narrowed(app, is_busy=is_busy)(scope, receive, None)
    return got[0]


async def test_what_need_not_be_read_passes_as_it_is():
    assert await ask("POST", "/threads/search", {"config": FORGED}) == {"config": FORGED}
    assert await ask("POST", "/threads", {"metadata": FORGED}) == {"metadata": FORGED}


async def test_a_body_gets_through_narrowed():
    got = await ask("POST", f"/threads/{THREAD}/runs/wait", {"config": {"configurable": FORGED}, "input": {"a": 1}})
    assert got == {"config": {"configurable": {}}, "input": {"a": 1}}


@pytest.mark.parametrize("thread_id", ["ann", THREAD.upper().replace("1", "A"), THREAD.replace("-", "")])
async def test_a_thread_is_called_by_a_uuid_in_one_spelling(thread_id):
    for method, path in (("GET", ""), ("GET", "/state"), ("POST", "/runs/wait")):
        with pytest.raises(NotFoundError):
            await ask(method, f"/threads/{thread_id}{path}", {})


async def test_who_does_not_wait_is_refused_while_the_thread_is_busy():
    run = {"input": {"a": 1}, "multitask_strategy": "reject"}
    command = {"id": 1, "method": "run.start", "params": {"input": {}, "multitaskStrategy": "reject"}}
    for path, body in (("runs", run), ("runs/stream", run), ("commands", command), ("state", {"values": {"a": 1}})):
        with pytest.raises(ThreadBusyError):
            await ask("POST", f"/threads/{THREAD}/{path}", body, busy=True)
        assert await ask("POST", f"/threads/{THREAD}/{path}", body) == body
    waits = {"input": {"a": 1}, "multitask_strategy": "enqueue"}
    assert await ask("POST", f"/threads/{THREAD}/runs", waits, busy=True) == waits

"""What of a request goes on."""

import json
import secrets
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.state.request_ref import REQUEST_REF, part_key, values_ref

THREAD = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
MAIL = "ann@example.com"


def run_body(**more):
    return {
        "assistant_id": "agent",
        "input": {"messages": [{"role": "user", "content": f"I am {MAIL}", "id": "m-1"}]},
        **more,
    }


@pytest.mark.parametrize(
    "path",
    [
        f"/threads/{THREAD}/runs",
        f"/threads/{THREAD}/runs/wait",
        f"/threads/{THREAD}/runs/stream",
        "/runs",
        "/runs/wait",
    ],
)
async def test_a_run_is_stored_with_placeholders_and_the_vault_has_what_was_said(call, recorder, vault, path, identity):
    assert (await call("POST", path, run_body())).status == 200
    said = recorder.body
    assert MAIL not in json.dumps(said)
    configurable = said["config"]["configurable"]
    parts = vault.values(configurable[REQUEST_REF])
    assert json.loads(parts[part_key("input")]) == run_body()["input"]
    assert list(vault.values(values_ref(configurable[REQUEST_REF])).values()) == [MAIL]
    assert configurable["user_id"] == identity("ann")


async def test_placeholders_are_those_of_the_thread(call, recorder, redactor):
    await call("POST", f"/threads/{THREAD.upper()}/runs", run_body())
    expected = redactor.for_thread(THREAD).redact(f"I am {MAIL}")
    assert recorder.body["input"]["messages"][0]["content"] == expected


async def test_secrets_and_media_reach_the_vault_too(call, recorder, vault):
    secret, image = "tr0ub4dor" + secrets.token_hex(4), "A" * 4000
    content = [{"type": "text", "text": f"my password is {secret}"}, {"type": "image", "base64": image}]
    body = run_body(input={"messages": [{"role": "user", "content": content, "id": "m-1"}]})
    await call("POST", f"/threads/{THREAD}/runs/wait", body)
    stored = json.dumps(recorder.body)
    assert secret not in stored
    assert image not in stored
    held = vault.values(recorder.body["config"]["configurable"][REQUEST_REF])
    assert json.loads(held[part_key("input")]) == body["input"]


async def test_what_has_nothing_to_hide_is_not_held(call, recorder, vault):
    body = run_body(input={"messages": [{"role": "user", "content": "Hello!", "id": "m-1"}]})
    await call("POST", "/runs/wait", body)
    assert recorder.body["input"] == body["input"]
    assert vault.values(recorder.body["config"]["configurable"][REQUEST_REF]) == {}


def without_ids(**more):
    said = [{"role": "user", "content": "Hello!"}, {"type": "human", "content": MAIL, "id": ""}, {"what": "ever"}]
    return run_body(input={"messages": said, "note": 1}, **more)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"/threads/{THREAD}/runs", without_ids()),
        ("/runs/batch", [without_ids()]),
        (f"/threads/{THREAD}/commands", {"id": 1, "method": "run.start", "params": without_ids()}),
    ],
)
async def test_a_message_has_one_id_however_often_its_run_is_begun(call, recorder, vault, path, body):
    assert (await call("POST", path, body)).status == 200
    run = recorder.body[0] if isinstance(body, list) else recorder.body.get("params", recorder.body)
    held = json.loads(vault.values(run["config"]["configurable"][REQUEST_REF])[part_key("input")])
    ids = [message.get("id") for message in run["input"]["messages"]]
    assert ids == [message.get("id") for message in held["messages"]]
    assert len({str(UUID(each)) for each in ids[:2]}) == 2
    assert ids[2] is None


async def test_messages_of_a_cron_are_new_each_time(call, recorder):
    await call("POST", "/runs/crons", without_ids(schedule="* * * * *"))
    assert "id" not in recorder.body["input"]["messages"][0]


async def test_context_becomes_configurable_as_the_server_does_it_itself(call, recorder, vault):
    await call("POST", "/runs/wait", run_body(context={"system_prompt": f"The user is {MAIL}", "model": "offline"}))
    said = recorder.body
    assert "context" not in said
    configurable = said["config"]["configurable"]
    assert configurable["model"] == "offline"
    assert MAIL not in configurable["system_prompt"]
    raw = json.loads(vault.values(configurable[REQUEST_REF])[part_key("context")])
    assert raw == {"system_prompt": f"The user is {MAIL}", "model": "offline"}


async def test_a_context_that_older_clients_put_into_configurable_is_held_without_its_user(call, recorder, vault):
    given = {"system_prompt": f"The user is {MAIL}", "user_id": "ann"}
    await call("POST", "/runs/wait", run_body(config={"configurable": given}))
    configurable = recorder.body["config"]["configurable"]
    assert MAIL not in configurable["system_prompt"]
    raw = json.loads(vault.values(configurable[REQUEST_REF])[part_key("context")])
    assert raw == {"system_prompt": f"The user is {MAIL}"}


async def test_configurable_and_context_together_stay_for_the_server_to_refuse(call, recorder):
    await call("POST", "/runs/wait", run_body(context={"model": "a"}, config={"configurable": {"model": "b"}}))
    assert recorder.body["context"]["model"] == "a"
    assert recorder.body["config"]["configurable"]["model"] == "b"


async def test_a_name_given_by_a_client_is_dropped_wherever_it_stands(call, recorder, vault):
    vault.hold("stolen", {part_key("input"): "{}"})
    forged = {"configurable": {REQUEST_REF: "stolen"}}
    await call("POST", "/runs/wait", run_body(config=forged))
    assert recorder.body["config"]["configurable"][REQUEST_REF] != "stolen"
    await call("POST", "/assistants", {"graph_id": "agent", "config": forged, "context": {REQUEST_REF: "stolen"}})
    assert "stolen" not in json.dumps(recorder.body)


async def test_tags_forged_in_a_message_are_dropped(call, recorder):
    forged = "<EMAIL:I77NUSRH>"
    await call("POST", "/runs/wait", run_body(input={"messages": [{"role": "user", "content": f"who is {forged}"}]}))
    assert recorder.body["input"]["messages"][0]["content"] == "who is <EMAIL>"


async def test_each_run_of_a_batch_gets_its_own_name(call, recorder, vault):
    await call("POST", "/runs/batch", [run_body(), run_body()])
    refs = {run["config"]["configurable"][REQUEST_REF] for run in recorder.body}
    assert len(refs) == 2
    assert all(part_key("input") in vault.values(ref) for ref in refs)
    assert MAIL not in json.dumps(recorder.body)


async def test_a_resume_value_is_held(call, recorder, vault):
    body = {"assistant_id": "agent", "command": {"resume": {"send_to": MAIL}}}
    await call("POST", f"/threads/{THREAD}/runs/wait", body)
    assert MAIL not in json.dumps(recorder.body)
    held = vault.values(recorder.body["config"]["configurable"][REQUEST_REF])
    assert json.loads(held[part_key("command")]) == body["command"]


async def test_commands_of_the_event_protocol_are_runs(call, recorder, vault):
    start = {"id": 1, "method": "run.start", "params": run_body()}
    await call("POST", f"/threads/{THREAD}/commands", start)
    params = recorder.body["params"]
    assert MAIL not in json.dumps(recorder.body)
    assert part_key("input") in vault.values(params["config"]["configurable"][REQUEST_REF])
    respond = {"id": 2, "method": "input.respond", "params": {"interrupt_id": "i-1", "namespace": [], "response": MAIL}}
    await call("POST", f"/threads/{THREAD}/commands", respond)
    params = recorder.body["params"]
    assert MAIL not in json.dumps(recorder.body)
    assert "input" not in params
    held = vault.values(params["config"]["configurable"][REQUEST_REF])
    assert json.loads(held[part_key("input")]) == {"i-1": MAIL}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/threads", {"metadata": {"mail": MAIL}}),
        ("PATCH", f"/threads/{THREAD}", {"metadata": {"mail": MAIL}}),
        ("POST", f"/threads/{THREAD}/state", {"values": {"messages": [{"role": "user", "content": MAIL}]}}),
        ("POST", "/threads/search", {"metadata": {"mail": MAIL}}),
        ("POST", "/assistants", {"graph_id": "agent", "name": MAIL, "context": {"a": MAIL}, "description": MAIL}),
        ("POST", "/runs/crons", {**run_body(), "schedule": "* * * * *"}),
        ("PATCH", f"/runs/crons/{THREAD}", {"input": {"messages": [MAIL]}}),
        ("PUT", "/store/items", {"namespace": ["notes"], "key": "1", "value": {"mail": MAIL}}),
        ("POST", "/unheard/of", {"anything": [MAIL]}),
        ("DELETE", "/store/items", {"namespace": ["notes"], "key": "1", "note": MAIL}),
    ],
)
async def test_every_other_body_is_redacted(call, recorder, method, path, body):
    assert (await call(method, path, body)).status == 200
    assert MAIL not in recorder.requests[-1]["body"].decode()
    assert "<EMAIL" in recorder.requests[-1]["body"].decode()


async def test_a_cron_runs_for_whoever_made_it(call, recorder, identity):
    await call("POST", "/runs/crons", {**run_body(), "schedule": "* * * * *"})
    assert recorder.body["config"]["configurable"] == {"user_id": identity("ann")}


@pytest.mark.parametrize("field", ["namespace", "key"])
async def test_an_item_can_not_be_named_by_a_sensitive_value(call, recorder, field):
    body = {"namespace": ["notes"], "key": "1", "value": {}}
    body[field] = [MAIL] if field == "namespace" else MAIL
    reply = await call("PUT", "/store/items", body)
    assert (reply.status, reply.json["error"]["code"]) == (422, "request_invalid")
    assert MAIL not in reply.text
    reply = await call("GET", "/store/items", query=f"namespace=notes&key={MAIL}".encode())
    assert reply.status == 422
    assert recorder.requests == []


@pytest.mark.parametrize("labels", [["notes.zebra"], ["notes", ""], ["."], ["a\x00b"], ["some"] * 397, [7]])
@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("PUT /store/items", "namespace"),
        ("DELETE /store/items", "namespace"),
        ("POST /store/items/search", "namespace_prefix"),
        ("POST /store/namespaces", "prefix"),
        ("POST /store/namespaces", "suffix"),
    ],
)
async def test_an_item_can_not_be_named_by_what_the_store_refuses(call, recorder, line, field, labels):
    reply = await call(*line.split(), {field: labels, "key": "1", "value": {}})
    assert (reply.status, reply.json["error"]["code"]) == (422, "request_invalid")
    assert reply.json["error"]["fields"][0]["field"] == field
    assert "zebra" not in reply.text
    assert recorder.requests == []


async def test_a_namespace_may_be_said_again_as_it_was_read(call, recorder, identity):
    root = ["users", identity("ann")]
    spaces = [], ["notes"], root, [*root, *["some"] * 390]
    for space in spaces:
        body = {"namespace": space, "key": "", "value": {}}
        assert (await call("PUT", "/store/items", body)).status == 200
        assert recorder.body == body


async def test_an_item_may_have_an_opaque_key(call, recorder):
    key = str(uuid4())
    assert (
        await call("PUT", "/store/items", {"namespace": ["notes"], "key": key, "value": {"key": key}})
    ).status == 200
    assert recorder.body == {"namespace": ["notes"], "key": key, "value": {"key": "<SECRET>"}}
    assert (await call("GET", "/store/items", query=f"namespace=notes&key={key}".encode())).status == 200
    assert key in recorder.requests[-1]["query_string"].decode()
    assert (await call("DELETE", "/store/items", {"namespace": ["notes"], "key": key})).status == 200


async def test_the_query_string_is_redacted(call, recorder):
    await call("GET", f"/threads/{THREAD}/history", query=b"note=ann%40example.com&limit=3&password=hunter2xyz")
    assert recorder.requests[-1]["query_string"] == b"note=%3CEMAIL%3E&limit=3&password=%3CSECRET%3E"


async def test_a_query_with_nothing_to_hide_stays_as_it_is(call, recorder):
    await call("GET", "/threads", query=b"a=b&a=c%20d&empty=")
    assert recorder.requests[-1]["query_string"] == b"a=b&a=c%20d&empty="


@pytest.mark.parametrize("query", [b"a=%ff", b"a=\xff", b"a=" + b"x" * 9000])
async def test_a_query_that_can_not_be_read_is_refused(call, recorder, query):
    assert (await call("GET", "/threads", query=query)).status == 400
    assert recorder.requests == []


async def test_a_path_with_a_sensitive_value_is_not_found(call, recorder):
    reply = await call("GET", f"/threads/{MAIL}")
    assert reply.status == 404
    assert recorder.requests == []


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b'{"a": NaN}', 400), (b"\xff\xfe", 400), (b"[" * 90_000, 400), (b"x" * 200_000, 413)],
)
async def test_a_body_that_can_not_be_read_is_refused(call, recorder, body, status):
    reply = await call("POST", "/threads", body)
    assert reply.status == status
    assert reply.json["detail"]
    assert recorder.requests == []


async def test_a_body_in_pieces_is_counted(call, recorder):
    reply = await call("POST", "/threads", pieces=[b" " * 60_000, b" " * 60_000])
    assert reply.status == 413
    assert recorder.requests == []


async def test_a_compressed_body_is_refused(call, recorder):
    reply = await call("POST", "/threads", b"\x1f\x8b", headers=[(b"content-encoding", b"gzip")])
    assert reply.status == 415
    assert recorder.requests == []


async def test_without_credentials_nothing_goes_on(call, recorder):
    reply = await call("POST", f"/threads/{THREAD}/runs", run_body(), user=None)
    assert (reply.status, reply.headers[b"www-authenticate"]) == (401, b"Bearer")
    assert recorder.requests == []


@pytest.mark.parametrize("path", ["/ok", "/info", "/openapi.json"])
async def test_what_tells_nothing_of_anybody_needs_no_credentials(call, recorder, path):
    assert (await call("GET", path, user=None)).status == 200


@pytest.mark.parametrize("place", ["context", "configurable"])
async def test_a_user_is_who_calls(call, recorder, place, identity):
    def body(user_id):
        given = {"user_id": user_id}
        return run_body(**({"context": given} if place == "context" else {"config": {"configurable": given}}))

    for named in ("ann", identity("ann"), None):
        await call("POST", "/runs/wait", body(named))
        assert recorder.body["config"]["configurable"]["user_id"] == identity("ann")
    recorder.requests.clear()
    reply = await call("POST", "/runs/wait", body("bob"))
    assert (reply.status, reply.json["error"]["code"]) == (403, "forbidden")
    assert recorder.requests == []


@pytest.mark.parametrize("place", ["context", "configurable"])
@pytest.mark.parametrize("route", [("POST", "/assistants"), ("PATCH", f"/assistants/{THREAD}")])
async def test_an_assistant_may_name_who_makes_it(call, recorder, identity, route, place):
    def body(named):
        values = {"user_id": named}
        return {"graph_id": "agent", **({"context": values} if place == "context" else {"config": {place: values}})}

    for named in ("ann", identity("ann")):
        assert (await call(*route, body(named))).status == 200
        assert recorder.body == body(identity("ann"))
    assert (await call(*route, body(identity("bob")))).status == 403
    await call(*route, {"graph_id": "agent"})
    assert recorder.body == {"graph_id": "agent"}


async def test_whom_nobody_vouches_for_may_name_users(call, recorder, identity):
    await call("POST", "/runs/wait", run_body(context={"user_id": "bob"}), user="nobody")
    assert recorder.body["config"]["configurable"]["user_id"] == identity("bob")
    await call("POST", "/runs/wait", run_body(context={"user_id": 7}), user="nobody")
    assert recorder.body["config"]["configurable"]["user_id"] == identity("7")
    for nobody in ("\n", "", True, 7.5, ["bob"]):
        reply = await call("POST", "/runs/wait", run_body(context={"user_id": nobody}), user="nobody")
        assert (reply.status, reply.json["error"]["code"]) == (422, "user_invalid")


async def test_the_servers_own_code_needs_no_credentials_and_is_redacted_too(call, recorder):
    await call("POST", "/runs/wait", run_body(), user=None, scope={"root_path": "/noauth"})
    assert MAIL not in json.dumps(recorder.body)


async def test_routes_of_ours_get_the_body_and_a_query_that_is_not_logged(call, recorder):
    await call("POST", "/memory/store", {"short_answer": MAIL}, query=b"user_id=ann%40example.com", user=None)
    request = recorder.requests[-1]
    assert recorder.body == {"short_answer": MAIL}
    assert request["query_string"] == b"user_id=%3CEMAIL%3E"
    assert request["discreet.query_string"] == b"user_id=ann%40example.com"


@pytest.mark.parametrize("path", ["/runs/wait", "/runs/crons"])
async def test_what_makes_the_server_call_others_is_dropped(call, recorder, path):
    outbound = {"feedback_keys": ["score"], "langsmith_tracer": {"project_name": "p"}}
    await call("POST", path, run_body(**outbound, schedule="* * * * *"))
    assert not outbound.keys() & recorder.body.keys()


async def test_the_query_is_clean_for_whoever_called_the_ingress(ingress, recorder):
    scope = {
        "type": "http", "method": "GET", "path": "/ok", "headers": [], "query_string": b"note=ann%40example.com",
    }  # fmt: skip

    async def receive():
        return {"type": "http.request", "body": b""}

    async def send(message):
        pass

    await ingress(scope, receive, send)
    assert scope["query_string"] == b"note=%3CEMAIL%3E"


class BrokenVault:
    async def ahold(self, turn, values):
        raise OSError("down")

    avalues = ahold


async def test_a_vault_that_is_down_costs_the_values_only(recorder, ingress, call):
    ingress._vault = BrokenVault()
    recorder.replies = [lambda app: json.dumps(app.body["input"]).encode()]
    reply = await call("POST", f"/threads/{THREAD}/runs/wait", run_body())
    assert reply.status == 200
    assert MAIL not in json.dumps(recorder.body)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(max_size=20) | st.just(f"to {MAIL}"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(body=st.dictionaries(st.sampled_from(["input", "context", "config", "command", "metadata", "x"]), json_values))
async def test_no_shape_of_a_body_gets_a_value_through_or_breaks_the_ingress(call, recorder, body):
    for path in (f"/threads/{THREAD}/runs/wait", "/runs/crons", f"/threads/{THREAD}/commands", "/store/items"):
        reply = await call("POST", path, {**body, "method": "run.start", "params": body})
        assert reply.status in {200, 403, 422}
        assert all(MAIL.encode() not in request["body"] for request in recorder.requests)
        recorder.requests.clear()


@pytest.mark.parametrize(
    "path", ["/runs/wait", f"/threads/{THREAD}/runs", "/runs/crons", f"/threads/{THREAD}/runs/crons"]
)
async def test_a_client_tells_langsmith_nothing(call, recorder, path):
    told = {"feedback_keys": ["thumbs"], "langsmith_tracer": {"project_name": "hers"}}
    await call("POST", path, {**run_body(**told), "schedule": "* * * * *"})
    assert not recorder.body.keys() & told.keys()


async def test_a_client_tells_langsmith_nothing_by_a_batch_or_a_command(call, recorder):
    told = run_body(feedback_keys=["thumbs"], langsmith_tracer={"project_name": "hers"})
    await call("POST", "/runs/batch", [told])
    assert "langsmith_tracer" not in recorder.body[0]
    await call("POST", f"/threads/{THREAD}/commands", {"id": 1, "method": "run.start", "params": told})
    assert "langsmith_tracer" not in recorder.body["params"]


async def test_a_channel_of_such_a_name_is_the_graphs(call, recorder):
    await call("POST", "/runs/wait", {"assistant_id": "a", "input": {"feedback_keys": ["thumbs"]}})
    assert recorder.body["input"] == {"feedback_keys": ["thumbs"]}

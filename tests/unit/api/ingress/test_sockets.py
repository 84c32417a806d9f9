"""The event protocol over a WebSocket."""

import json

import pytest

from discreet.state.request_ref import REQUEST_REF, part_key

THREAD = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
MAIL = "ann@example.com"
START = {
    "id": 1,
    "method": "run.start",
    "params": {
        "assistant_id": "agent",
        "input": {"messages": [{"role": "user", "content": f"I am {MAIL}", "id": "m-1"}]},
    },
}


@pytest.fixture
def connect(ingress):
    """Send messages through a connection whose server says again what it got; return what it got, and what came back."""

    async def connect(*texts, user="ann"):
        got, sent = [], []
        inbox = [{"type": "websocket.connect"}, *({"type": "websocket.receive", "text": t} for t in texts)]

        async def receive():
            return inbox.pop(0) if inbox else {"type": "websocket.disconnect", "code": 1000}

        async def send(message):
            sent.append(message)

        async def app(scope, receive, send):
            while (message := await receive())["type"] != "websocket.disconnect":
                if message["type"] == "websocket.connect":
                    await send({"type": "websocket.accept"})
                else:
                    got.append(json.loads(message["text"]))
                    await send({"type": "websocket.send", "text": message["text"]})

        ingress._app = app
        headers = [(b"authorization", f"Bearer {user}".encode())] if user else []
        scope = {"type": "websocket", "path": f"/threads/{THREAD}/stream/events", "headers": headers}
        await ingress({**scope, "query_string": b"", "client": ("127.0.0.1", 1)}, receive, send)
        return got, sent

    return connect


async def test_a_command_goes_in_with_placeholders_and_comes_back_with_real_values(connect, vault):
    got, sent = await connect(json.dumps(START))
    assert MAIL not in json.dumps(got)
    ref = got[0]["params"]["config"]["configurable"][REQUEST_REF]
    assert json.loads(vault.values(ref)[part_key("input")]) == START["params"]["input"]
    assert MAIL in sent[-1]["text"]


async def test_a_message_that_can_not_be_read_is_answered_and_goes_no_further(connect):
    got, sent = await connect("{", "x" * 200_000, json.dumps(START))
    assert len(got) == 1
    assert [json.loads(m["text"])["error"] for m in sent[1:3]] == ["request_malformed", "body_too_large"]


async def test_another_user_can_not_be_named(connect):
    start = {**START, "params": {**START["params"], "config": {"configurable": {"user_id": "bob"}}}}
    got, sent = await connect(json.dumps(start))
    assert got == []
    assert json.loads(sent[-1]["text"])["error"] == "forbidden"


async def test_without_credentials_it_is_not_opened(connect):
    got, sent = await connect(json.dumps(START), user=None)
    assert (got, sent[0]["type"], sent[0]["code"]) == ([], "websocket.close", 1008)


async def test_what_the_web_server_logs_of_a_connection_has_no_value_in_its_query(ingress):
    scope = {
        "type": "websocket",
        "path": f"/threads/{THREAD}/stream/events",
        "query_string": f"note={MAIL}".encode(),
        "headers": [(b"authorization", b"Bearer ann")],
        "client": ("127.0.0.1", 1),
    }

    async def app(scope, receive, send):
        await send({"type": "websocket.close", "code": 1000})

    async def nothing(*_):
        return {"type": "websocket.disconnect", "code": 1000}

    ingress._app = app
    await ingress(scope, nothing, nothing)
    assert MAIL.encode() not in scope["query_string"]
    assert b"ann%40" not in scope["query_string"]

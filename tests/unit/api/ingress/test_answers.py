"""What of an answer reaches the owner."""

import json

import pytest

from discreet.api.ingress.answers import Restoring
from discreet.state.request_ref import REQUEST_REF, values_ref

THREAD = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
MAIL = "ann@example.com"
BODY = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": f"I am {MAIL}", "id": "m-1"}]}}
LIVE = [f"/threads/{THREAD}/runs/wait", f"/threads/{THREAD}/runs/stream", "/runs/wait", "/runs/stream"]
LATER = [f"/threads/{THREAD}/runs", f"/threads/{THREAD}/state", "/threads/search", "/runs"]


def echo(app):
    """Say again what was stored."""
    return json.dumps(app.body).encode()


def sse(app):
    return b'event: values\r\ndata: {"said": "' + app.body["input"]["messages"][0]["content"].encode() + b'"}\r\n\r\n'


@pytest.mark.parametrize("path", LIVE)
async def test_the_live_answer_has_the_real_values(call, recorder, path):
    recorder.replies = [echo]
    assert (await call("POST", path, BODY)).json["input"] == BODY["input"]


async def test_events_are_restored_one_by_one(call, recorder):
    recorder.kind, recorder.replies = b"text/event-stream; charset=utf-8", [sse, b": heartbeat\r\n\r\n", sse, b""]
    reply = await call("POST", LIVE[1], BODY)
    assert len(reply.pieces) == 4
    assert [MAIL in piece.decode() for piece in reply.pieces] == [True, False, True, False]


@pytest.mark.parametrize("path", LATER)
async def test_no_other_answer_is_restored(call, recorder, path):
    recorder.replies = [echo]
    assert MAIL not in (await call("POST", path, BODY)).text


@pytest.mark.parametrize("status", [401, 403, 404, 409, 422, 500])
async def test_a_refusal_is_not_restored(call, recorder, status):
    recorder.replies, recorder.status = [echo], status
    assert MAIL not in (await call("POST", LIVE[0], BODY)).text


async def test_a_reading_of_the_run_is_not_restored(call, recorder):
    recorder.replies = [echo]
    await call("POST", LIVE[0], BODY)
    stored = recorder.requests[-1]["body"]
    recorder.replies = [stored]
    assert MAIL not in (await call("GET", f"/threads/{THREAD}/runs/{THREAD}/join")).text


async def test_values_that_the_run_found_are_restored_and_those_of_other_requests_are_not(call, recorder, vault):
    def found(app):
        ref = app.body["config"]["configurable"][REQUEST_REF]
        vault.hold(values_ref(ref), {"<PHONE:AAAAAAAA>": "+1 212 555 0147"})
        vault.hold(values_ref("another"), {"<EMAIL:BBBBBBBB>": "bob@example.com"})
        return b'"call <PHONE:AAAAAAAA> or write <EMAIL:BBBBBBBB>"'

    recorder.replies = [found]
    assert (await call("POST", LIVE[0], BODY)).json == "call +1 212 555 0147 or write <EMAIL:BBBBBBBB>"


async def test_a_value_is_written_as_json_writes_it(call, recorder, vault):
    value = '1 "Main" \\ Street\nSpringfield'

    def found(app):
        vault.hold(values_ref(app.body["config"]["configurable"][REQUEST_REF]), {"<ADDRESS:AAAAAAAA>": value})
        return b'{"at": "<ADDRESS:AAAAAAAA>"}'

    recorder.replies = [found]
    assert (await call("POST", LIVE[0], BODY)).json == {"at": value}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16])
async def test_a_placeholder_across_pieces_is_restored(call, recorder, size):
    recorder.replies = [lambda app, n=n: echo(app)[n * size : (n + 1) * size] for n in range(400 // size)]
    reply = await call("POST", LIVE[0], BODY)
    assert reply.json["input"] == BODY["input"]


async def test_characters_across_pieces_stay_whole(call, recorder):
    text = json.dumps({"said": "xin chào, 你好 <b>"}, ensure_ascii=False).encode()
    recorder.replies = [text[n : n + 1] for n in range(len(text))]
    assert (await call("POST", LIVE[0], BODY)).json == {"said": "xin chào, 你好 <b>"}


async def test_restoring_can_be_turned_off(recorder, vault, redactor, ingress, call):
    ingress._restore = False
    recorder.replies = [echo]
    assert MAIL not in (await call("POST", LIVE[0], BODY)).text


async def test_a_lost_vault_leaves_placeholders(recorder, ingress, call):
    class Lossy:
        async def ahold(self, turn, values):
            raise OSError

        avalues = ahold

    recorder.replies = [b'"<PHONE:AAAAAAAA>"']
    ingress._vault = Lossy()
    assert (await call("POST", LIVE[0], BODY)).json == "<PHONE:AAAAAAAA>"


@pytest.mark.parametrize("value", ['pa"ss\\word', "line\nline", '", "admin": "', "plain"])
async def test_a_value_within_json_in_json_stays_one_text(vault, value):
    """As in the arguments of a call; else a value could end its text and add fields."""
    tag = "<SECRET:AAAAAAAA>"
    restoring = Restoring(vault, [], {tag: value})
    said = {"args": json.dumps({"p": tag}), "text": f'He said "{tag}" and {{}}', "list": json.dumps([tag])}
    restored = json.loads(await restoring.text(json.dumps(said)))
    assert json.loads(restored["args"]) == {"p": value}
    assert restored["text"] == f'He said "{value}" and {{}}'
    assert json.loads(restored["list"]) == [value]

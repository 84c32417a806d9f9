"""A body that the server would refuse by its schema is refused before, in the one form, and not repeated."""

import sys

import langgraph_api.validation
import pytest

from discreet.api.ingress import body_schemas

THREAD = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
SAID = "My cat is called Mimi"
RUN = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": SAID}]}}
CRON = {**RUN, "schedule": "* * * * *"}


@pytest.mark.parametrize(
    ("route", "body", "fields"),
    [
        ("POST /runs/batch", RUN, {"body": "must be a list"}),
        ("POST /runs/batch", [RUN, {**RUN, "assistant_id": None}], {"1.assistant_id": body_schemas.UNKNOWN}),
        ("POST /runs/wait", [RUN], {"body": "must be an object"}),
        ("POST /runs/stream", {"input": RUN["input"]}, {"assistant_id": "is needed"}),
        ("POST /runs", {**RUN, "stream_mode": SAID}, {"stream_mode": body_schemas.UNKNOWN}),
        ("POST /runs", {**RUN, "durability": SAID}, {"durability": "must be one of sync, async, exit"}),
        (f"POST /threads/{THREAD}/runs", {**RUN, "command": SAID}, {"command": body_schemas.UNKNOWN}),
        (f"POST /threads/{THREAD}/runs/wait", {**RUN, "metadata": SAID}, {"metadata": "must be an object"}),
        (f"POST /threads/{THREAD}/runs/stream", SAID, {"body": "must be an object"}),
        ("POST /runs/crons", RUN, {"schedule": "is needed"}),
        ("POST /runs/crons", {"schedule": "* * * * *"}, {"assistant_id": "is needed"}),
        (f"POST /threads/{THREAD}/runs/crons", {**RUN, "schedule": 5}, {"schedule": "must be a text"}),
        (f"PATCH /runs/crons/{THREAD}", {"enabled": SAID}, {"enabled": "must be true or false"}),
        ("POST /runs/crons/search", {"limit": SAID}, {"limit": "must be a whole number"}),
        ("POST /threads/search", {"limit": SAID}, {"limit": "must be a whole number"}),
        ("POST /threads", {"metadata": SAID}, {"metadata": "must be an object"}),
        (f"POST /threads/{THREAD}/state", {"as_node": [SAID]}, {"as_node": "must be a text"}),
        (f"POST /threads/{THREAD}/history", {"limit": SAID}, {"limit": "must be a whole number"}),
        ("POST /assistants", {"graph_id": "agent", "metadata": SAID}, {"metadata": "must be an object"}),
        ("PUT /store/items", {"namespace": ["n"], "key": "k", "value": SAID}, {"value": "must be an object"}),
    ],
)
async def test_a_body_of_another_shape_is_refused_by_its_fields(call, recorder, route, body, fields):
    reply = await call(*route.split(), body)
    assert (reply.status, reply.json["error"]["code"]) == (422, "request_invalid")
    assert {each["field"]: each["problem"] for each in reply.json["error"]["fields"]} == fields
    assert all(f"{field} {problem}" in reply.json["detail"] for field, problem in fields.items())
    assert "Mimi" not in reply.text
    assert recorder.requests == []


async def test_names_that_somebody_made_up_are_not_repeated(call):
    reply = await call("POST", "/runs", {**RUN, "config": {"configurable": {f"{SAID}\\u0000": 1}}})
    assert (reply.status, [each["field"] for each in reply.json["error"]["fields"]]) == (422, ["config"])
    assert "Mimi" not in reply.text


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/runs", RUN),
        ("POST", "/runs/batch", [RUN, RUN]),
        ("POST", "/runs/crons", CRON),
        ("POST", f"/threads/{THREAD}/runs/stream", {**RUN, "stream_mode": ["messages", "values"]}),
        ("POST", f"/threads/{THREAD}/runs/wait", {"assistant_id": "agent", "input": {"said": "\ud800\0"}}),
        ("POST", f"/threads/{THREAD}/state", {"values": None}),
        ("PATCH", f"/runs/crons/{THREAD}", {"end_time": None}),
        ("POST", "/unknown", [RUN]),
    ],
)
async def test_a_body_of_the_right_shape_passes(call, recorder, method, path, body):
    assert (await call(method, path, body)).status == 200
    assert len(recorder.requests) == 1


async def test_without_the_server_nothing_is_known(call, monkeypatch):
    monkeypatch.delitem(sys.modules, body_schemas.SERVER)
    assert (await call("POST", "/runs/batch", RUN)).status == 200


async def test_every_schema_is_one_that_the_server_has():
    assert all(hasattr(langgraph_api.validation, name) for _, _, name in body_schemas._SHAPES)

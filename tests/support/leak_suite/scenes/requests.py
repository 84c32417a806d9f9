"""Requests that are odd or wrong: values in paths, queries and headers, bodies in other encodings, bodies that are refused."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx

from leak_suite.visit import Visit

HEADERS = (
    "X-Note",
    "X-Request-Id",
    "X-User-Id",
    "X-Auth-Scheme",
    "X-Forwarded-For",
    "User-Agent",
    "Referer",
    "Cookie",
    "Langsmith-Trace",
    "Langsmith-Project",
    "Traceparent",
    "X-Tenant-Id",
    "X-Project-Id",
    "X-Organization-Id",
    "X-Service-Key",
    "X-Datadog-Origin",
    "Accept-Language",
    "Last-Event-Id",
    "Origin",
)


async def headers(visit: Visit) -> None:
    """Send values in headers, those that the server passes on and logs among them."""
    thread = await visit.thread()
    planted = {name: visit.plant(f"header {name}") for name in HEADERS}
    carried = {part: quote(visit.plant(f"baggage {part}")) for part in ("tags", "project")}
    planted["Baggage"] = ",".join(f"langsmith-{part}={value}" for part, value in carried.items())
    body = visit.leaky("wait0.3")
    await visit.owner.call("live", "POST", f"/threads/{thread}/runs/wait", body, headers=planted)
    await visit.owner.call("live", "POST", "/runs/wait", body, headers=planted)
    await visit.owner.call("live", "POST", "/threads", {}, headers=planted)
    update = {"values": {"scratch": "nothing"}, "as_node": "reply"}
    await visit.owner.call("live", "POST", f"/threads/{thread}/state", update, headers=planted)
    command = {"id": 1, "method": "run.start", "params": visit.leaky()}
    await visit.owner.call("live", "POST", f"/threads/{thread}/commands", command, headers=planted)
    await visit.owner.call("live", "GET", f"/threads/{uuid4()}", headers=planted)
    await visit.owner.call("live", "GET", f"/threads/{thread}", headers={"X-Api-Key": visit.plant("API key", "token")})
    refused = {"Authorization": f"Bearer {visit.plant('token nobody signed', 'token')}"}
    await visit.owner.call("live", "GET", f"/threads/{thread}", headers=refused)
    await visit.owner.call(
        "live", "GET", f"/threads/{thread}", headers={"Authorization": visit.plant("bad credentials")}
    )
    await visit.read_thread(thread)


async def addresses(visit: Visit) -> None:
    """Put values into paths and query strings, which servers like to log."""
    owner = visit.owner
    thread = await visit.thread()
    for place, path in (
        ("query of a thread", f"/threads/{thread}?note="),
        ("query of a state", f"/threads/{thread}/state?note="),
        ("status of runs", f"/threads/{thread}/runs?status="),
        ("select of runs", f"/threads/{thread}/runs?select="),
        ("limit of a history", f"/threads/{thread}/history?limit="),
        ("before of a history", f"/threads/{thread}/history?before="),
        ("query of ok", "/ok?note="),
        ("query of docs", "/docs?note="),
        ("query of info", "/info?note="),
        ("query of nothing", "/nothing/there?note="),
        ("path of a thread", "/threads/"),
        ("path of an assistant", "/assistants/"),
        ("path of a cron", "/runs/crons/"),
        ("path of a run", f"/threads/{thread}/runs/"),
        ("path of a checkpoint", f"/threads/{thread}/state/"),
        ("path of nothing", "/nothing/there/"),
    ):
        await owner.call("live", "GET", path + quote(visit.plant(place), safe=""))
    encoded = "".join(f"%{byte:02X}" for byte in visit.plant("query of escapes", "email").encode())
    await owner.call("live", "GET", f"/threads/{thread}?note={encoded}")
    await owner.call("live", "GET", f"/threads/{thread}?{quote(visit.plant('name in a query'))}=1")
    twice = quote(quote(visit.plant("query escaped twice", "email"), safe=""), safe="")
    await owner.call("live", "GET", f"/threads/{thread}?note={twice}")
    await owner.call(
        "live", "POST", f"/threads/{thread}/runs/wait?note={quote(visit.plant('query of a run'))}", visit.leaky()
    )
    await owner.call("live", "DELETE", f"/threads/{quote(visit.plant('path of a deletion'))}")


async def refused(visit: Visit) -> None:
    """Send what is refused, with values in what the refusal may repeat."""
    owner = visit.owner
    thread = await visit.thread()
    wait = f"/threads/{thread}/runs/wait"
    for place, body in (
        ("assistant id", {"assistant_id": visit.plant("assistant id"), "input": {}}),
        ("stream mode", {**visit.leaky(), "stream_mode": visit.plant("stream mode")}),
        ("multitask strategy", {**visit.leaky(), "multitask_strategy": visit.plant("multitask strategy")}),
        ("checkpoint id", {**visit.leaky(), "checkpoint_id": visit.plant("checkpoint id")}),
        ("checkpoint", {**visit.leaky(), "checkpoint": {"checkpoint_ns": visit.plant("checkpoint namespace")}}),
        ("durability", {**visit.leaky(), "durability": visit.plant("durability")}),
        ("input of a wrong type", {"assistant_id": "leaky", "input": visit.plant("input of a wrong type")}),
        ("input list", {"assistant_id": "leaky", "input": [visit.plant("input list")]}),
        ("unknown field", {**visit.leaky(), "unknown": visit.plant("unknown field"), visit.plant("unknown key"): 1}),
        ("webhook", {**visit.leaky(), "webhook": visit.plant("webhook that is none")}),
        ("message role", {**visit.leaky(), "input": {"messages": [{"role": visit.plant("role"), "content": "x"}]}}),
        (
            "message type",
            {**visit.leaky(), "input": {"messages": [{"type": 1, "content": visit.plant("bad message")}]}},
        ),
        (
            "both",
            {**visit.leaky(), "context": {"a": visit.plant("both context")}, "config": {"configurable": {"a": 1}}},
        ),
        ("resume without pause", {"assistant_id": "leaky", "command": {"resume": visit.plant("resume of nothing")}}),
        ("goto nowhere", {"assistant_id": "leaky", "command": {"goto": visit.plant("goto nowhere")}}),
        ("recursion limit", {**visit.leaky(), "config": {"recursion_limit": visit.plant("recursion limit")}}),
        ("after seconds", {**visit.leaky(), "after_seconds": visit.plant("after seconds")}),
    ):
        reply = await owner.send("live", "POST", wait, body)
        visit.expect(f"{place} does not break the server", holds=reply.status_code != 500)
    await owner.call("live", "POST", "/threads", {"thread_id": visit.plant("thread id")})
    await owner.call("live", "POST", "/threads", {"if_exists": visit.plant("if exists")})
    await owner.call("live", "POST", "/threads", {"metadata": visit.plant("metadata of a wrong type")})
    await owner.call(
        "live",
        "POST",
        f"/threads/{uuid4()}/runs/wait",
        {**visit.leaky(), "metadata": {"a": visit.plant("thread that is none")}},
    )
    await owner.call("live", "POST", f"/threads/{thread}/state", {"values": visit.plant("state of a wrong type")})
    update = {"values": {"scratch": "x"}, "as_node": visit.plant("as node")}
    await owner.call("live", "POST", f"/threads/{thread}/state", update)
    await owner.call(
        "live",
        "POST",
        f"/threads/{thread}/state/checkpoint",
        {"checkpoint": {"a": visit.plant("checkpoint that is none")}},
    )
    await owner.call("live", "POST", "/threads/search", {"status": visit.plant("searched status")})
    await owner.call("live", "POST", "/threads/search", {"select": [visit.plant("selected")]})
    await owner.call("live", "POST", "/threads/search", {"extract": {"a": visit.plant("extracted")}})
    await owner.call(
        "live", "PUT", "/store/items", {"namespace": visit.plant("namespace of a wrong type"), "key": "k", "value": {}}
    )
    await owner.call(
        "live", "PUT", "/store/items", {"namespace": ["a"], "key": "k", "value": visit.plant("value of a wrong type")}
    )
    with suppress(httpx.TransportError):  # the server fails where a thread has no values, and drops the connection
        search = {"values": {"scratch": visit.plant("searched value")}}
        await owner.call("live", "POST", "/threads/search", search, headers={"Connection": "close"})
    await visit.read_thread(thread)


async def encodings(visit: Visit) -> None:
    """Send bodies in encodings that say the same in other bytes."""
    thread = await visit.thread()
    path = f"/threads/{thread}/runs"
    for place, encode, more in (
        ("escaped JSON", _escaped, {}),
        ("JSON with a byte order mark", lambda body: b"\xef\xbb\xbf" + json.dumps(body).encode(), {}),
        (
            "UTF-16",
            lambda body: json.dumps(body).encode("utf-16"),
            {"Content-Type": "application/json; charset=utf-16"},
        ),
        ("gzip", lambda body: gzip.compress(json.dumps(body).encode()), {"Content-Encoding": "gzip"}),
        ("another content type", lambda body: json.dumps(body).encode(), {"Content-Type": "text/plain"}),
        (
            "a form",
            lambda body: b"note=" + quote(json.dumps(body)).encode(),
            {"Content-Type": "application/x-www-form-urlencoded"},
        ),
        ("not JSON", lambda body: json.dumps(body).encode()[:-1], {}),
        ("two keys of one name", _twice, {}),
        ("not a number", lambda body: json.dumps({**body, "nan": float("nan")}).encode(), {}),
        ("deep", lambda body: _nested(body, 60), {}),
    ):
        body = {
            **visit.leaky("wait0.3"),
            "multitask_strategy": "enqueue",
            "metadata": {"note": visit.plant(f"{place}, metadata")},
        }
        body["input"] = {
            **body["input"],
            **visit.message(f"I am {visit.plant(place)}."),
            "scratch": visit.plant(f"{place}, channel"),
        }
        headers = {"Content-Type": "application/json", **more}
        await visit.owner.send("live", "POST", path, content=encode(body), headers=headers)
    chunks = json.dumps({**visit.leaky(), "metadata": {"note": visit.plant("chunks")}}).encode()

    async def chunked():
        for start in range(0, len(chunks), 7):
            yield chunks[start : start + 7]

    await visit.owner.send("live", "POST", path, content=chunked(), headers={"Content-Type": "application/json"})
    number = int(visit.plant("card as a number", "card"))
    await visit.owner.call("live", "POST", path, {**visit.leaky(), "metadata": {"card": number}})
    for run in await visit.owner.call("later", "GET", f"{path}?limit=50"):
        await visit.settled(thread, run["run_id"])
    await visit.read_thread(thread)


def _escaped(body: Any) -> bytes:
    """Return JSON whose every letter in a string is written as an escape."""

    def escape(text: str) -> str:
        return '"' + "".join(f"\\u{ord(char):04x}" for char in text) + '"'

    def write(value: Any) -> str:
        if isinstance(value, str):
            return escape(value)
        if isinstance(value, dict):
            return "{" + ",".join(f"{escape(key)}:{write(part)}" for key, part in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(write, value)) + "]"
        return json.dumps(value)

    return write(body).encode()


def _twice(body: dict[str, Any]) -> bytes:
    """Return JSON that says `metadata` twice: parsers differ in which they take."""
    clean = json.dumps({"metadata": {"note": "nothing"}})[1:-1]
    return ("{" + clean + "," + json.dumps(body)[1:-1] + "," + clean + "}").encode()


def _nested(body: dict[str, Any], depth: int) -> bytes:
    deep: Any = body["metadata"]
    for _ in range(depth):
        deep = {"a": [deep]}
    return json.dumps({**body, "metadata": deep}).encode()


SCENES = {"headers": headers, "addresses": addresses, "refused": refused, "encodings": encodings}

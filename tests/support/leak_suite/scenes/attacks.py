"""What somebody tries who wants another's values, and values in forms that are easily overlooked."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from leak_suite.visit import Visit

PLACEHOLDER = re.compile(r"<[A-Z_]+:[A-Z2-7]{8}>")
REFERENCE = re.compile(r"__discreet_request\W+([0-9a-f]{32})")


async def another_ones_request(visit: Visit) -> None:
    """Use the name of another's request and their placeholders to get at their values, while their run lasts."""
    thread = await visit.thread()
    body = {**visit.leaky("wait3"), "context": {"note": visit.plant("context")}}
    run = await visit.owner.call("live", "POST", f"/threads/{thread}/runs", body)
    seen = json.dumps(await visit.owner.call("later", "GET", f"/threads/{thread}/runs/{run['run_id']}"))
    reference = next(iter(REFERENCE.findall(seen)), "0" * 32)
    placeholders = " ".join(PLACEHOLDER.findall(seen))
    stolen = {"__discreet_request": reference, "__pregel_resuming": True}
    for more in (
        {"config": {"configurable": stolen}},
        {"context": stolen},
        {"checkpoint": {"checkpoint_ns": "", **stolen}},
        {"config": {"metadata": stolen, **stolen}},
        {"metadata": stolen},
        stolen,
    ):
        said = {"assistant_id": "leaky", "input": visit.message(f"Tell me {placeholders} {reference}."), **more}
        await _try(visit, "/runs/wait", said)
        await _try(visit, "/runs/stream", {**said, "stream_mode": ["values", "updates", "debug"]})
    for settings in ({"context": stolen}, {"config": {"configurable": stolen}}):
        made = await visit.other.call("later", "POST", "/assistants", {"graph_id": "leaky", **settings})
        said = {"assistant_id": made.get("assistant_id"), "input": visit.message(f"Tell me {placeholders}.")}
        await _try(visit, "/runs/wait", said)
    start = {"id": 1, "method": "run.start", "params": {"assistant_id": "leaky", "config": {"configurable": stolen}}}
    start["params"]["input"] = visit.message(f"Tell me {placeholders}.")
    own = await visit.other.call("later", "POST", "/threads", {})
    await visit.other.call("later", "POST", f"/threads/{own['thread_id']}/commands", start)
    await visit.other.listen(
        "later", "POST", f"/threads/{own['thread_id']}/stream/events", {"channels": ["values"]}, seconds=1
    )
    await visit.settled(thread, run["run_id"])


async def _try(visit: Visit, path: str, body: Mapping[str, Any]) -> None:
    """Send what somebody else wants; what they may do is their own, what comes back must hold nothing."""
    await visit.other.stream("later", "POST", path, dict(body))


async def media(visit: Visit) -> None:
    """Send files as people attach them, in each form of a message."""
    thread = await visit.thread()
    for place, block in (
        ("data URL", lambda data: {"type": "image_url", "image_url": {"url": f"data:text/plain;base64,{data}"}}),
        ("file block", lambda data: {"type": "file", "base64": data, "mime_type": "text/plain"}),
        ("source block", lambda data: {"type": "document", "source": {"type": "base64", "data": data}}),
    ):
        data = base64.b64encode(f"Dear Sir, my address is {visit.plant(place)}, yours truly.".encode()).decode()
        content = [{"type": "text", "text": f"See {visit.plant(f'text beside a {place}')}."}, block(data)]
        body = {**visit.leaky("wait0.3"), "input": {"messages": [{"role": "user", "content": content}], "steps": []}}
        await visit.owner.call("live", "POST", f"/threads/{thread}/runs/wait", body)
        await visit.owner.call("live", "POST", f"/threads/{thread}/runs/wait", {**body, "assistant_id": "agent"})
    await visit.read_thread(thread)


async def long_texts(visit: Visit) -> None:
    """Send texts in which a value stands far behind, and very many values."""
    thread = await visit.thread()
    chatter = "The birds at the lake are early this year. "
    far = f"{chatter * 1300} Write to {visit.plant('far behind')}. {chatter * 1300}"
    many = " ".join(f"{number}. {visit.plant('one of many')}," for number in range(400))
    for text in (far, many):
        body = {**visit.leaky(), "input": visit.message(text), "stream_mode": ["values", "messages-tuple"]}
        await visit.owner.stream("live", "POST", f"/threads/{thread}/runs/stream", body)
        await visit.owner.call("live", "POST", f"/threads/{thread}/runs/wait", {**body, "assistant_id": "agent"})
    await visit.read_thread(thread)


async def histories(visit: Visit) -> None:
    """Send a whole conversation as clients do that keep it themselves: tool calls, results, names, ids."""
    thread = await visit.thread()
    call = {"name": "look_up", "args": {"query": visit.plant("argument of a call")}, "id": "call-1"}
    messages = [
        {"type": "system", "content": f"You serve {visit.plant('system message')}."},
        {
            "type": "human",
            "content": "Hi",
            "name": visit.plant("name of a message", "email"),
            "id": visit.plant("message id"),
        },
        {
            "type": "ai",
            "content": visit.plant("answer"),
            "tool_calls": [call],
            "additional_kwargs": {"note": visit.plant("kwargs")},
        },
        {
            "type": "tool",
            "content": visit.plant("result"),
            "tool_call_id": "call-1",
            "artifact": visit.plant("artifact"),
        },
        {"type": "human", "content": [{"type": "text", "text": f"And {visit.plant('text block')}?"}]},
    ]
    body = {"assistant_id": "leaky", "input": {"messages": messages}, "stream_mode": ["values", "messages"]}
    await visit.owner.stream("live", "POST", f"/threads/{thread}/runs/stream", body)
    await visit.owner.call("live", "POST", f"/threads/{thread}/runs/wait", {**body, "assistant_id": "agent"})
    await visit.read_thread(thread)


async def odd_methods(visit: Visit) -> None:
    """Use methods and paths that no route has."""
    thread = await visit.thread()
    for method in ("OPTIONS", "HEAD", "PUT", "DELETE", "PATCH"):
        await visit.owner.call("live", method, f"/threads/{visit.plant(f'path of {method}', 'email')}/state")
        await visit.owner.call("live", method, f"/threads/{thread}?note={visit.plant(f'query of {method}', 'email')}")
    await visit.owner.call("live", "GET", "/ok", headers={"Host": visit.plant("host", "email")})
    for path in ("/mcp", "/a2a/leaky", "/ui/leaky", "/noauth/threads"):
        await visit.owner.call("live", "POST", path, {"note": visit.plant(f"body of {path}")})
    await visit.owner.call(
        "live", "GET", f"/threads/{thread}/state/{visit.plant('path of a state', 'iban')}?subgraphs=true"
    )


SCENES = {
    "another one's request": another_ones_request,
    "media": media,
    "long texts": long_texts,
    "histories": histories,
    "odd methods": odd_methods,
}

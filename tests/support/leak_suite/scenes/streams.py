"""Streams: each mode, resumable ones, and pauses."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from leak_suite.people import Event
from leak_suite.scenes.runs import GRAPH_PLACES, HIDDEN_PLACE
from leak_suite.visit import Visit

MODES = ("values", "updates", "messages", "messages-tuple", "debug", "events", "tasks", "checkpoints", "custom")
RESTORED = {
    "values": "state channel",
    "updates": "state channel",
    "custom": "stream writer",
}
"""What the owner sees in a stream of that mode, as it is."""

CHATTER = "Then tell me more about the birds at the lake. " * 40
"""Streamed text comes some hundred characters late."""

BROKEN_PLACEHOLDER = re.compile(r"<[A-Z][A-Z_]*(?::[0-9A-Z]*)?$|^(?:[A-Z_]+:)?[0-9A-Z]{8}>")
"""A text that ends inside a placeholder, or begins inside one."""


async def each_mode(visit: Visit) -> None:
    """Stream the leaky graph in each mode by itself."""
    visit.planted_by_graph(*GRAPH_PLACES, HIDDEN_PLACE)
    for mode in MODES:
        thread = await visit.thread()
        body = {**visit.leaky("work", "hide"), "stream_mode": mode, "stream_subgraphs": True}
        came = await visit.owner.stream("live", "POST", f"/threads/{thread}/runs/stream", body)
        visit.expect(f"the stream of {mode} is no error", holds=all(event.name != "error" for event in came))
        if mode in RESTORED:
            text = json.dumps([event.data for event in came], ensure_ascii=False)
            visit.expect(f"the owner's stream of {mode} is restored", holds=visit.plant(RESTORED[mode]) in text)
        _whole(visit, mode, came)


async def tokens(visit: Visit) -> None:
    """Stream an answer in tokens: the owner reads the real text, and no placeholder is in two events."""
    visit.planted_by_graph("tool result")
    for assistant in ("agent", "leaky"):
        thread = await visit.thread()
        text = f"Say {visit.plant('input')}, route {visit.route}: and {visit.plant('second value')} please. {CHATTER}"
        body: dict[str, Any] = {"assistant_id": assistant, "input": visit.message(text), "stream_resumable": True}
        body |= {"stream_mode": ["messages-tuple", "values"]}
        came = await visit.owner.stream("live", "POST", f"/threads/{thread}/runs/stream", body)
        said = "".join(
            event.data[0]["content"]
            for event in came
            if event.name == "messages" and event.data[0]["type"] == "AIMessageChunk"
        )
        for place in ("input", "second value"):
            visit.expect(f"the tokens of {assistant} have the {place}", holds=visit.plant(place) in said)
        visit.expect(f"the answer of {assistant} comes in pieces", holds=len(came) > 5)
        _whole(visit, f"the live stream of {assistant}", came)
        runs = await visit.owner.call("later", "GET", f"/threads/{thread}/runs")
        again = f"/threads/{thread}/runs/{runs[0]['run_id']}/stream"
        _whole(visit, f"{assistant}, joined", await visit.owner.stream("later", "GET", again, headers=FROM_START))


FROM_START = {"Last-Event-ID": "-1"}


async def resumable(visit: Visit) -> None:
    """Read a stream again: from its start, from the middle, as somebody else, and that of the whole thread."""
    visit.planted_by_graph(*GRAPH_PLACES, HIDDEN_PLACE)
    thread = await visit.thread()
    body = {**visit.leaky("work", "hide", "wait0.6"), "stream_resumable": True, "stream_mode": list(MODES)}
    whole = asyncio.create_task(_thread_stream(visit, thread))
    await asyncio.sleep(0.1)
    run = await visit.owner.call("live", "POST", f"/threads/{thread}/runs", body)
    path = f"/threads/{thread}/runs/{run['run_id']}/stream"
    during = await visit.owner.stream("later", "GET", path, headers=FROM_START)
    visit.expect("the stream can be joined", holds=len(during) > 3)
    await visit.settled(thread, run["run_id"])
    for headers in (FROM_START, {"Last-Event-ID": "0"}, {"Last-Event-ID": visit.plant("last event id")}, {}):
        await visit.owner.stream("later", "GET", path, headers=headers)
        await visit.other.stream("foreign", "GET", path, headers=headers)
    live = await visit.owner.stream("live", "POST", f"/threads/{thread}/runs/stream", body)
    visit.expect("a resumable stream numbers its events", holds=any(event.number for event in live))
    await whole
    await visit.read_thread(thread)


async def _thread_stream(visit: Visit, thread: str) -> None:
    """Listen to the thread for two seconds; the stream has no end of its own."""
    path = f"/threads/{thread}/stream?stream_modes=run_modes&stream_modes=lifecycle&stream_modes=state_update"
    await visit.owner.listen("later", "GET", path, seconds=2)


async def pauses(visit: Visit) -> None:
    """Pause in a subgraph, look at it, and resume with an answer, an update and a way to go."""
    visit.planted_by_graph(
        "interrupt payload", "channel of a subgraph", "message of a subgraph", "subgraph before pausing", *GRAPH_PLACES
    )
    for way in ("wait", "stream"):
        thread = await visit.thread()
        body = {**visit.leaky("work", "ask"), "stream_subgraphs": True, "stream_mode": ["values", "updates", "debug"]}
        came = await visit.owner.stream("live", "POST", f"/threads/{thread}/runs/stream", body)
        asked = visit.plant("interrupt payload") in json.dumps([event.data for event in came], ensure_ascii=False)
        visit.expect("the owner is asked in real words", holds=asked)
        await visit.read_thread(thread)
        await visit.owner.call("later", "POST", "/threads/search", {"status": "interrupted", "limit": 50})
        command = {
            "resume": f"It is {visit.plant(f'resume value, {way}', 'email')}.",
            "update": {"scratch": visit.plant(f"update of a command, {way}")},
        }
        resumed = {"assistant_id": "leaky", "command": command, "stream_subgraphs": True}
        path = f"/threads/{thread}/runs/{way}"
        if way == "wait":
            text = json.dumps(await visit.owner.call("live", "POST", path, resumed), ensure_ascii=False)
        else:
            resumed["stream_mode"] = ["values", "messages-tuple"]
            came = await visit.owner.stream("live", "POST", path, resumed)
            text = json.dumps([event.data for event in came], ensure_ascii=False)
        await visit.other.call("foreign", "POST", f"/threads/{thread}/runs/wait", resumed)
        visit.expect(
            f"the graph got the real answer, {way}", holds=visit.plant(f"resume value, {way}", "email") in text
        )
        await visit.read_thread(thread)
    thread = await visit.thread()
    goto = {"goto": [{"node": "seek", "input": {"private": visit.plant("goto"), "route": visit.route}}]}
    await visit.owner.call("live", "POST", f"/threads/{thread}/runs/wait", {"assistant_id": "leaky", "command": goto})
    await visit.read_thread(thread)


def _whole(visit: Visit, what: str, came: list[Event]) -> None:
    """Expect that no text in an event begins or ends inside a placeholder."""
    broken = [text for event in came for text in _texts(event.data) if BROKEN_PLACEHOLDER.search(text)]
    visit.expect(f"no event of {what} has a part of a placeholder", holds=not broken)


def _texts(data: Any) -> list[str]:
    if isinstance(data, str):
        return [data]
    parts = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [text for part in parts for text in _texts(part)]


SCENES = {"each mode": each_mode, "tokens": tokens, "resumable": resumable, "pauses": pauses}

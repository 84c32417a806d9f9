"""The event protocol: commands and events over HTTP and over a WebSocket."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from leak_suite.scenes.runs import GRAPH_PLACES
from leak_suite.visit import Visit

CHANNELS = ["values", "updates", "messages", "tools", "custom", "lifecycle", "input", "tasks"]
ANSWER_SECONDS = 20
PAUSE_PLACES = ("interrupt payload", "channel of a subgraph", "message of a subgraph", "subgraph before pausing")


async def over_http(visit: Visit) -> None:
    """Start a run by a command, listen to its events, answer its question."""
    visit.planted_by_graph(*GRAPH_PLACES, *PAUSE_PLACES)
    thread = await visit.thread()
    listening = asyncio.create_task(
        visit.owner.listen(
            "later",
            "POST",
            f"/threads/{thread}/stream/events",
            {"channels": CHANNELS},
            seconds=ANSWER_SECONDS,
            until=b"You said",
        )
    )
    await asyncio.sleep(0.2)
    body = visit.leaky("work", "ask")
    params = {**body, "config": {"configurable": {"note": visit.plant("configurable")}}}
    params |= {"metadata": {"note": visit.plant("metadata")}}
    await visit.owner.call("live", "POST", f"/threads/{thread}/commands", _command(2, "run.start", **params))
    interrupt = await _interrupt(visit, thread)
    answer = {"interrupt_id": interrupt, "response": f"It is {visit.plant('response')}."}
    answer |= {"update": {"scratch": visit.plant("update beside the response")}}
    replied = await visit.owner.call(
        "live", "POST", f"/threads/{thread}/commands", _command(4, "input.respond", **answer)
    )
    visit.expect("the question is answered", holds=isinstance(replied, dict) and replied.get("type") == "success")
    came = await listening
    visit.expect("events come", holds=len(came) > 3)
    await visit.owner.call("live", "POST", f"/threads/{thread}/commands", _command(5, visit.plant("unknown command")))
    await visit.owner.call("live", "POST", f"/threads/{thread}/stream/events", {"channels": [visit.plant("channel")]})
    await visit.owner.listen("later", "POST", f"/threads/{thread}/stream/events", {"channels": CHANNELS}, seconds=1)
    await visit.other.listen("foreign", "POST", f"/threads/{thread}/stream/events", {"channels": CHANNELS}, seconds=1)
    await visit.other.call("foreign", "POST", f"/threads/{thread}/commands", _command(1, "run.start", **body))
    await visit.other.call("foreign", "POST", f"/threads/{thread}/commands", _command(3, "input.respond", **answer))
    await visit.read_thread(thread)


async def over_websocket(visit: Visit) -> None:
    """Do the same over one WebSocket."""
    visit.planted_by_graph(*GRAPH_PLACES, *PAUSE_PLACES)
    thread = await visit.thread()
    path = f"/threads/{thread}/stream/events?note={visit.plant('query of a WebSocket', 'email')}"
    try:
        async with asyncio.timeout(ANSWER_SECONDS), visit.owner.socket("live", path) as socket:
            await socket.command(1, "subscription.subscribe", channels=CHANNELS)
            started = await socket.command(2, "run.start", **visit.leaky("work", "ask"))
            visit.expect("a run starts over a WebSocket", holds=started.get("type") == "success")
            asked = await socket.until(lambda message: message.get("method") == "input.requested")
            answer = {
                "interrupt_id": asked["params"]["data"]["interrupt_id"],
                "response": f"It is {visit.plant('response')}.",
            }
            answer["namespace"] = asked["params"]["namespace"]
            await socket.command(3, "input.respond", **answer)
            await socket.command(4, visit.plant("unknown command"))
            await socket.until(lambda message: "You said" in json.dumps(message))
    except TimeoutError:
        visit.expect("a run over a WebSocket comes to its end", holds=False)
    try:
        async with asyncio.timeout(3), visit.other.socket("foreign", path) as socket:
            await socket.command(1, "subscription.subscribe", channels=CHANNELS)
            await socket.until(lambda _: False)
    except Exception:  # noqa: BLE001  # whatever ends it: what came is what counts
        pass
    await visit.read_thread(thread)


def _command(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"id": number, "method": method, "params": params}


async def _interrupt(visit: Visit, thread: str) -> str:
    """Wait until the thread is paused and return the id of its question."""
    for _ in range(100):
        found = await visit.owner.call("later", "GET", f"/threads/{thread}")
        interrupts = [entry for entries in (found.get("interrupts") or {}).values() for entry in entries]
        if found.get("status") == "interrupted" and interrupts:
            return str(interrupts[0]["id"])
        await asyncio.sleep(0.1)
    visit.expect("the run pauses", holds=False)
    return "none"


SCENES = {"events over HTTP": over_http, "events over a WebSocket": over_websocket}

"""Scenes of the leak suite as Aegra can play them: it has no copies, no batches and no WebSocket, and crons answer with a run."""

import asyncio
import json

from leak_suite.digest import digest
from leak_suite.scenes.events import CHANNELS
from leak_suite.scenes.runs import GRAPH_PLACES

PAUSE_PLACES = ("interrupt payload", "channel of a subgraph", "message of a subgraph", "subgraph before pausing")
CRON_SECONDS = 40


async def template(visit):
    """Talk to the template: the model and the tool get the real words, the owner sees them, nobody else ever does."""
    visit.planted_by_graph("tool result")
    thread = await visit.thread()
    said = visit.plant("input", "email")
    text = f"Write to {said}, route {visit.route}: thanks."
    body = {
        "assistant_id": "agent",
        "input": visit.message(text),
        "context": {"agent_id": visit.plant("context")},
        "metadata": {"note": visit.plant("metadata")},
        "config": {
            "tags": [visit.plant("tag")],
            "metadata": {"note": visit.plant("metadata of config")},
            "run_name": visit.plant("name of the run"),
        },
    }
    state = await visit.owner.call("live", "POST", f"/threads/{thread}/runs/wait", body)
    answer = state["messages"][-1]["content"]
    visit.expect("the model got the real text", holds=f"The model read {digest(text)}." in answer)
    visit.expect("the tool got the real text", holds=f"The tool read {digest(text)} " in answer)
    visit.expect("the owner's answer has what they wrote", holds=said in answer)
    visit.expect("the owner's answer has what the tool found", holds=visit.plant("tool result") in answer)
    later = await visit.owner.call("later", "GET", f"/threads/{thread}/state")
    visit.expect("the conversation is kept", holds="The model read" in json.dumps(later))
    await visit.read_thread(thread)
    lists = {**body, "metadata": {"list": [visit.plant("metadata that is refused")]}}
    refused = await visit.owner.send("later", "POST", f"/threads/{thread}/runs/wait", lists)
    visit.expect("metadata of another shape are refused", holds=refused.status_code == 422)


async def crons(visit):
    """Have crons fire: one on a thread, one without."""
    visit.planted_by_graph(*GRAPH_PLACES)
    owner = visit.owner
    thread = await visit.thread()
    for place, path in (("thread", f"/threads/{thread}/runs/crons"), ("stateless", "/runs/crons")):
        said = visit.message(f"Tell {visit.plant(f'{place} input')}")
        body = {
            **visit.leaky("work"),
            "input": {**said, "steps": ["work"], "route": visit.route},
            "schedule": "* * * * * *",
            "metadata": {"note": visit.plant(f"{place} metadata")},
            "context": {"note": visit.plant(f"{place} context")},
            "config": {"tags": [visit.plant(f"{place} tag")]},
            "webhook": f"https://{visit.plant(f'{place} webhook', 'email')}/",
            "on_run_completed": "keep",
        }
        await owner.call("live", "POST", path, body)
    found = await owner.call("later", "POST", "/runs/crons/search", {"limit": 100})
    visit.expect("crons are made", holds=len(found) == 2)
    for cron in found:
        path = f"/runs/crons/{cron['cron_id']}"
        await owner.call("live", "PATCH", path, {"metadata": {"more": visit.plant("patched metadata")}})
        await owner.call("live", "PATCH", path, {"context": {"note": visit.plant("patched context")}})
        await visit.other.call("foreign", "PATCH", path, {"enabled": False})
        await visit.other.call("foreign", "DELETE", path)
    await visit.other.call("later", "POST", "/runs/crons/search", {"limit": 100})
    fired = []
    for _ in range(CRON_SECONDS * 5):
        runs = await owner.call("later", "GET", f"/threads/{thread}/runs?limit=50")
        fired = [run for run in runs if run["status"] == "success"]
        if len(fired) > 1:  # the first is begun by whoever makes it
            break
        await asyncio.sleep(0.2)
    visit.expect("a cron fires, and its run succeeds", holds=len(fired) > 1)
    for cron in found:
        await owner.call("later", "DELETE", f"/runs/crons/{cron['cron_id']}")
    await visit.read_thread(thread)


async def conflicts(visit):
    """Get in the way of a run that lasts."""
    for strategy in ("reject", "enqueue", None, "interrupt"):
        thread = await visit.thread()
        first = await visit.owner.call("live", "POST", f"/threads/{thread}/runs", visit.leaky("wait1.5"))
        await asyncio.sleep(0.3)
        second = {**visit.leaky("work"), "multitask_strategy": strategy}
        second["input"] |= visit.message(f"Me too: {visit.plant(f'input of the second, {strategy}')}")
        reply = await visit.owner.send("later", "POST", f"/threads/{thread}/runs", second)
        wanted = {"reject": 409, "interrupt": 422}.get(strategy, 200)
        visit.expect(f"{strategy} is answered by {wanted}", holds=reply.status_code == wanted)
        await visit.settled(thread, first["run_id"])
        if wanted == 200:
            status = await visit.settled(thread, reply.json()["run_id"])
            visit.expect(f"the second run succeeds, {strategy}", holds=status == "success")
        await visit.read_thread(thread)


async def state_updates(visit):
    """Change the state of a thread by hand, and go on from a point of its past."""
    owner = visit.owner
    thread = await visit.thread(metadata={"note": visit.plant("metadata"), visit.plant("metadata key"): 1})
    await owner.call("live", "PATCH", f"/threads/{thread}", {"metadata": {"deep": [visit.plant("patched metadata")]}})
    await owner.call("live", "POST", "/threads/search", {"metadata": {"note": visit.plant("searched metadata")}})
    await owner.call("live", "POST", f"/threads/{thread}/runs/wait", visit.leaky())
    values = {
        "messages": [{"role": "user", "content": f"Also {visit.plant('state update')}"}],
        "scratch": visit.plant("updated channel"),
        "hidden": visit.plant("updated untracked channel"),
    }
    updated = await owner.call("live", "POST", f"/threads/{thread}/state", {"values": values, "as_node": "reply"})
    checkpoint = updated["checkpoint"]
    await owner.call("later", "POST", f"/threads/{thread}/state/checkpoint", {"checkpoint": checkpoint})
    await owner.call("later", "GET", f"/threads/{thread}/state/{checkpoint['checkpoint_id']}")
    fork = {**visit.leaky(), "checkpoint": {**checkpoint, "note": visit.plant("note beside a checkpoint")}}
    await owner.call("live", "POST", f"/threads/{thread}/runs/wait", fork)
    await owner.call(
        "live", "GET", f"/threads/{thread}/history", params={"metadata": visit.plant("metadata in a query")}
    )
    await visit.read_thread(thread)
    await visit.other.call("foreign", "DELETE", f"/threads/{thread}")
    await owner.call("later", "DELETE", f"/threads/{thread}")
    await visit.read_thread(thread)


async def events(visit):
    """Start a run by a command, listen to its events, answer its question."""
    visit.planted_by_graph(*GRAPH_PLACES, *PAUSE_PLACES)
    owner = visit.owner
    thread = await visit.thread()
    at = f"/threads/{thread}"
    listen = {"seconds": 20, "until": b"You said"}
    listening = asyncio.create_task(
        owner.listen("later", "POST", f"{at}/stream/events", {"channels": CHANNELS}, **listen)
    )
    await asyncio.sleep(0.2)
    params = {**visit.leaky("work", "ask"), "metadata": {"note": visit.plant("metadata")}}
    params["config"] = {"configurable": {"note": visit.plant("configurable")}}
    started = await owner.call("live", "POST", f"{at}/commands", {"id": 1, "method": "run.start", "params": params})
    visit.expect("the run pauses", holds=await visit.settled(thread, started["result"]["run_id"]) == "interrupted")
    state = await owner.call("later", "GET", f"{at}/state")
    answer = {
        "interrupt_id": state["interrupts"][0]["id"],
        "namespace": [],
        "response": f"It is {visit.plant('response')}.",
    }
    answer["update"] = {"scratch": visit.plant("update beside the response")}
    command = {"id": 2, "method": "input.respond", "params": answer}
    await visit.other.call("foreign", "POST", f"{at}/commands", command)
    replied = await owner.call("live", "POST", f"{at}/commands", command)
    visit.expect("the question is answered", holds=replied["type"] == "success")
    visit.expect("events come", holds=len(await listening) > 3)
    unknown = {"id": 3, "method": visit.plant("unknown command"), "params": {visit.plant("unknown key"): 1}}
    await owner.call("live", "POST", f"{at}/commands", unknown)
    await visit.other.call("foreign", "POST", f"{at}/stream/events", {"channels": CHANNELS})
    await visit.read_thread(thread)


OWN = {
    "template of Aegra": template,
    "crons of Aegra": crons,
    "conflicts of Aegra": conflicts,
    "state updates of Aegra": state_updates,
    "events of Aegra": events,
}

OTHERWISE = {
    "template": "metadata of runs that are lists",
    "conflicts": "strategies that end the run under way",
    "events over a WebSocket": "a WebSocket",
    "events over HTTP": "interrupts in the thread's row",
    "thread life": "copies",
    "state updates": "copies",
}
"""Scenes that need what Aegra has not. They are played, as far as it lets them, and searched for like the others."""

LEFT_OUT = frozenset({"crons"})
"""It deletes its crons by ids that Aegra's answers have not: they would go on every second."""

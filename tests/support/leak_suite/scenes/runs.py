"""Runs on threads and without them: waited for, in the background, in batches, in each other's way."""

from __future__ import annotations

import asyncio
import json

from leak_suite.digest import digest
from leak_suite.visit import Visit

GRAPH_PLACES = (
    "stream writer",
    "custom event",
    "store put of a node",
    "tool argument",
    "plan",
    "tool result",
    "artifact",
    "additional kwargs",
    "state channel",
    "key of a state channel",
    "list in a state channel",
    "untracked channel",
)
"""What the step `work` of the leaky graph plants."""
HIDDEN_PLACE = "private channel"
"""What the step `hide` plants."""


async def template(visit: Visit) -> None:
    """Talk to the template: the model and the tool get the real words, the owner sees them, nobody else ever does."""
    visit.planted_by_graph("tool result")
    thread = await visit.thread()
    text = f"My secret is {visit.plant('input')}, route {visit.route}: thanks."
    body = {
        "assistant_id": "agent",
        "input": visit.message(text),
        "context": {"agent_id": visit.plant("context")},
        "metadata": {"note": visit.plant("metadata"), "list": [visit.plant("metadata list")]},
        "config": {"tags": [visit.plant("tag")], "metadata": {"note": visit.plant("metadata of config")}},
    }
    state = await visit.owner.call("live", "POST", f"/threads/{thread}/runs/wait", body)
    answer = state["messages"][-1]["content"] if isinstance(state, dict) and state.get("messages") else ""
    visit.expect("the model got the real text", holds=f"The model read {digest(text)}." in answer)
    visit.expect("the tool got the real text", holds=f"The tool read {digest(text)} " in answer)
    visit.expect("the owner's answer has what they wrote", holds=visit.plant("input") in answer)
    visit.expect("the owner's answer has what the tool found", holds=visit.plant("tool result") in answer)
    later = await visit.owner.call("later", "GET", f"/threads/{thread}/state")
    visit.expect("the conversation is kept", holds="The model read" in json.dumps(later))
    await visit.read_thread(thread)
    again = {"assistant_id": "agent", "input": visit.message(f"What did I say? {visit.plant('second input')}")}
    await visit.owner.call("live", "POST", f"/threads/{thread}/runs/wait", again)
    await visit.read_thread(thread)


async def waited_for(visit: Visit) -> None:
    """Wait for a run of the leaky graph, with values wherever a body takes some."""
    visit.planted_by_graph(*GRAPH_PLACES, HIDDEN_PLACE)
    thread = await visit.thread()
    body = visit.leaky("work", "hide", "wait0.4", scratch=visit.plant("input channel"))
    body |= {
        "config": {
            "configurable": {"note": visit.plant("configurable"), visit.plant("configurable key"): 1},
            "tags": [visit.plant("tag")],
            "metadata": {"note": visit.plant("metadata of config")},
        },
        "metadata": {"note": visit.plant("metadata")},
        "interrupt_before": [visit.plant("interrupt before")],
    }
    state = await visit.owner.call("live", "POST", f"/threads/{thread}/runs/wait", body)
    text = json.dumps(state, ensure_ascii=False)
    visit.expect("the owner's answer has what a node found", holds=visit.plant("private channel") in text)
    visit.expect("the model got the real text", holds=digest(body["input"]["messages"][0]["content"]) in text)
    await visit.read_thread(thread)


async def in_background(visit: Visit) -> None:
    """Start a run and look at it while it runs, and when it is over."""
    visit.planted_by_graph(*GRAPH_PLACES, HIDDEN_PLACE)
    thread = await visit.thread()
    body = {**visit.leaky("work", "hide", "wait0.6"), "context": {"note": visit.plant("context")}}
    run = await visit.owner.call("live", "POST", f"/threads/{thread}/runs", body)
    await visit.owner.call("later", "GET", f"/threads/{thread}/runs/{run['run_id']}/join")
    status = await visit.settled(thread, run["run_id"])
    visit.expect(f"a run in the background succeeds, not {status}", holds=status == "success")
    await visit.read_thread(thread)
    await visit.other.call("foreign", "DELETE", f"/threads/{thread}/runs/{run['run_id']}")
    await visit.owner.call("later", "DELETE", f"/threads/{thread}/runs/{run['run_id']}")
    await visit.read_thread(thread)


async def failing(visit: Visit) -> None:
    """Raise what holds values, in each way of running."""
    visit.planted_by_graph(
        "local of a frame", "cause of an exception", "exception", "note of an exception", *GRAPH_PLACES
    )
    thread = await visit.thread()
    await visit.owner.call("live", "POST", f"/threads/{thread}/runs/wait", visit.leaky("work", "fail"))
    await visit.read_thread(thread)
    for path in (f"/threads/{thread}/runs/stream", "/runs/stream"):
        await visit.owner.stream("live", "POST", path, {**visit.leaky("fail"), "stream_mode": ["values", "debug"]})
    await visit.owner.call("live", "POST", "/runs/wait", visit.leaky("fail"))
    run = await visit.owner.call("live", "POST", f"/threads/{thread}/runs", visit.leaky("fail"))
    visit.expect("the run fails", holds=await visit.settled(thread, run["run_id"]) == "error")
    await visit.read_thread(thread)


async def stateless(visit: Visit) -> None:
    """Run without a thread, in each of the four ways; rows are on disk while a run lasts."""
    visit.planted_by_graph(*GRAPH_PLACES, HIDDEN_PLACE)
    work = ("work", "hide", "wait0.4")
    state = await visit.owner.call("live", "POST", "/runs/wait", visit.leaky(*work))
    text = json.dumps(state, ensure_ascii=False)
    visit.expect("the owner's answer has what a node found", holds=visit.plant("private channel") in text)
    streaming = {**visit.leaky(*work), "stream_mode": ["values", "updates", "messages-tuple", "custom"]}
    await visit.owner.stream("live", "POST", "/runs/stream", streaming)
    kept = {**visit.leaky(*work), "on_completion": "keep", "metadata": {"note": visit.plant("metadata")}}
    run = await visit.owner.call("live", "POST", "/runs", kept)
    batch = [{**visit.leaky("wait0.4"), "metadata": {"note": visit.plant(f"batch {i}")}} for i in range(2)]
    await visit.owner.call("live", "POST", "/runs/batch", batch)
    await visit.settled(run["thread_id"], run["run_id"])
    await visit.read_thread(run["thread_id"])


async def conflicts(visit: Visit) -> None:
    """Get in the way of a run that lasts, with each strategy."""
    for strategy in ("reject", "enqueue", "interrupt", "rollback"):
        thread = await visit.thread()
        first = {**visit.leaky("wait1.5"), "metadata": {"note": visit.plant(f"metadata of the first, {strategy}")}}
        await visit.owner.call("live", "POST", f"/threads/{thread}/runs", first)
        await asyncio.sleep(0.3)
        second = {**visit.leaky("work"), "multitask_strategy": strategy}
        second["input"] = visit.message(f"Me too: {visit.plant(f'input of the second, {strategy}')}")
        if strategy == "reject":
            reply = await visit.owner.send("later", "POST", f"/threads/{thread}/runs", second)
            visit.expect("the second run is refused", holds=reply.status_code == 409)
            reply = await visit.owner.send("later", "POST", f"/threads/{thread}/runs/wait", second)
            reply = await visit.owner.send("later", "PATCH", f"/threads/{thread}", {"metadata": {"a": "b"}})
            await visit.owner.send("later", "POST", f"/threads/{thread}/state", {"values": {"scratch": "x"}})
            await visit.other.send("foreign", "POST", f"/threads/{thread}/runs", second)
        else:
            run = await visit.owner.call("live", "POST", f"/threads/{thread}/runs", second)
            await visit.settled(thread, run["run_id"])
        await visit.read_thread(thread)


async def cancelled(visit: Visit) -> None:
    """Cancel runs that last, in each way."""
    for action in ("interrupt", "rollback"):
        thread = await visit.thread()
        run = await visit.owner.call("live", "POST", f"/threads/{thread}/runs", visit.leaky("work", "wait5"))
        await asyncio.sleep(0.4)
        path = f"/threads/{thread}/runs/{run['run_id']}/cancel?action={action}&wait=true"
        await visit.other.call("foreign", "POST", path)
        await visit.owner.call("later", "POST", path)
        await visit.read_thread(thread)
    thread = await visit.thread()
    run = await visit.owner.call("live", "POST", f"/threads/{thread}/runs", visit.leaky("work", "wait5"))
    await asyncio.sleep(0.3)
    await visit.owner.call("later", "POST", "/runs/cancel", {"run_ids": [run["run_id"]], "thread_id": thread})
    await visit.read_thread(thread)


async def webhook(visit: Visit) -> None:
    """Have a webhook called, whose address holds a value too."""
    visit.planted_by_graph(*GRAPH_PLACES)
    thread = await visit.thread()
    body = {**visit.leaky("work"), "webhook": f"{visit.hooks}/hook?mail={visit.plant('webhook address', 'email')}"}
    await visit.owner.call("live", "POST", f"/threads/{thread}/runs/wait", body)
    body["webhook"] = f"{visit.hooks}/hook"
    await visit.owner.call("live", "POST", f"/threads/{thread}/runs/wait", body)
    await visit.read_thread(thread)


async def tracing(visit: Visit) -> None:
    """Ask for what goes to LangSmith: the project of a trace, and links for feedback."""
    thread = await visit.thread()
    body = {**visit.leaky(), "feedback_keys": [visit.plant("feedback key")], "stream_mode": "values"}
    await visit.owner.stream("live", "POST", f"/threads/{thread}/runs/stream", body)
    traced = {**visit.leaky(), "langsmith_tracer": {"project_name": visit.plant("tracer project")}}
    await visit.owner.call("live", "POST", f"/threads/{thread}/runs/wait", traced)
    await visit.read_thread(thread)


SCENES = {
    "template": template,
    "wait": waited_for,
    "background": in_background,
    "failing": failing,
    "stateless": stateless,
    "conflicts": conflicts,
    "cancelled": cancelled,
    "webhook": webhook,
    "tracing": tracing,
}

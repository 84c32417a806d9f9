"""Threads: their metadata, their copies, their states."""

from __future__ import annotations

from leak_suite.visit import Visit


async def thread_life(visit: Visit) -> None:
    """Create, change, search, copy, prune and delete a thread."""
    owner = visit.owner
    thread = await visit.thread(metadata={"note": visit.plant("metadata"), visit.plant("metadata key"): 1})
    await owner.call(
        "live", "PATCH", f"/threads/{thread}", {"metadata": {"more": {"deep": [visit.plant("patched metadata")]}}}
    )
    search = {"metadata": {"note": visit.plant("metadata")}, "limit": 50}
    await owner.call("live", "POST", "/threads/search", search)
    await owner.call("live", "POST", "/threads/count", {"metadata": {"note": visit.plant("counted metadata")}})
    copy = await owner.call("later", "POST", f"/threads/{thread}/copy")
    await visit.read_thread(thread)
    await visit.read_thread(copy["thread_id"])
    await owner.call("later", "POST", "/threads/search", {"limit": 100})
    await visit.other.call("foreign", "POST", f"/threads/{thread}/copy")
    await visit.other.call("later", "POST", "/threads/search", {"limit": 100})
    await owner.call("live", "POST", "/threads/prune", {"thread_ids": [copy["thread_id"]], "strategy": "delete"})
    await owner.call("later", "DELETE", f"/threads/{thread}")
    await owner.call("later", "GET", f"/threads/{thread}")


async def supersteps(visit: Visit) -> None:
    """Create a thread that has a past."""
    values = {
        "messages": [{"role": "user", "content": f"I am {visit.plant('superstep')}."}],
        "scratch": visit.plant("superstep scratch"),
    }
    body = {
        "metadata": {"graph_id": "leaky"},
        "supersteps": [
            {"updates": [{"values": values, "as_node": "__input__"}]},
            {"updates": [{"values": {"scratch": visit.plant("second superstep")}, "as_node": "reply"}]},
        ],
    }
    thread = await visit.thread(**body)
    await visit.read_thread(thread)


async def state_updates(visit: Visit) -> None:
    """Change the state of a thread by hand, look at its past, copy it."""
    owner = visit.owner
    thread = await visit.thread()
    await owner.call("live", "POST", f"/threads/{thread}/runs/wait", visit.leaky())
    values = {
        "messages": [{"role": "user", "content": f"Also {visit.plant('state update')}"}],
        "scratch": visit.plant("updated channel"),
        "table": {"row": visit.plant("updated table")},
        "hidden": visit.plant("updated untracked channel"),
    }
    updated = await owner.call("live", "POST", f"/threads/{thread}/state", {"values": values, "as_node": "reply"})
    await owner.call(
        "live", "POST", f"/threads/{thread}/state", {"values": {"scratch": visit.plant("second state update")}}
    )
    await visit.other.call("foreign", "POST", f"/threads/{thread}/state", {"values": {"scratch": "mine now"}})
    if "checkpoint" in updated:
        checkpoint = updated["checkpoint"]
        await owner.call("later", "POST", f"/threads/{thread}/state/checkpoint", {"checkpoint": checkpoint})
        await owner.call("later", "GET", f"/threads/{thread}/state/{checkpoint['checkpoint_id']}")
        fork = {**visit.leaky(), "checkpoint": checkpoint, "input": visit.message(f"Fork {visit.plant('fork')}")}
        await owner.call("live", "POST", f"/threads/{thread}/runs/wait", fork)
    await visit.read_thread(thread)
    copy = await owner.call("later", "POST", f"/threads/{thread}/copy")
    await visit.read_thread(copy["thread_id"])


SCENES = {"thread life": thread_life, "supersteps": supersteps, "state updates": state_updates}

"""What stands until it is deleted: assistants, crons, items of the store."""

from __future__ import annotations

import asyncio
from typing import Any

from leak_suite.scenes.runs import GRAPH_PLACES
from leak_suite.visit import Visit

EVERY_SECOND = "* * * * * *"
"""A schedule with seconds, which is due at the next look of the scheduler."""
CRON_SECONDS = 15


async def assistants(visit: Visit) -> None:
    """Create, change, use and delete an assistant."""
    owner = visit.owner
    body = {
        "graph_id": "leaky",
        "name": f"For {visit.plant('name')}",
        "description": f"Helps {visit.plant('description')}",
        "context": {"note": visit.plant("context")},
        "metadata": {"note": visit.plant("metadata")},
    }
    made = await owner.call("live", "POST", "/assistants", body)
    assistant = made.get("assistant_id")
    configured = {"graph_id": "leaky", "config": {"configurable": {"note": visit.plant("configurable")}}}
    await owner.call("live", "POST", "/assistants", configured)
    await owner.call("live", "POST", "/assistants", {"graph_id": visit.plant("graph id")})
    patch = {"metadata": {"more": visit.plant("patched metadata")}, "context": {"note": visit.plant("patched context")}}
    await owner.call("live", "PATCH", f"/assistants/{assistant}", patch)
    await owner.call("live", "POST", f"/assistants/{assistant}/versions", {"limit": 10})
    await owner.call("live", "POST", f"/assistants/{assistant}/latest", {"version": 1})
    await owner.call("live", "POST", "/runs/wait", {**visit.leaky(), "assistant_id": assistant})
    for person, kind in ((owner, "later"), (visit.other, "foreign")):
        await person.call(kind, "GET", f"/assistants/{assistant}")
        await person.call(kind, "POST", f"/assistants/{assistant}/versions", {"limit": 10})
        await person.call(kind, "GET", f"/assistants/{assistant}/schemas")
        await person.call("later", "POST", "/assistants/search", {"limit": 100})
    await owner.call("live", "POST", "/assistants/search", {"metadata": {"note": visit.plant("searched metadata")}})
    await owner.call("live", "POST", "/assistants/search", {"name": visit.plant("searched name")})
    await visit.other.call("foreign", "PATCH", f"/assistants/{assistant}", {"name": "Mine"})
    await visit.other.call("foreign", "DELETE", f"/assistants/{assistant}")
    await owner.call("later", "DELETE", f"/assistants/{assistant}")


async def crons(visit: Visit) -> None:
    """Have crons fire once: one on a thread, one without."""
    visit.planted_by_graph(*GRAPH_PLACES)
    owner = visit.owner
    thread = await visit.thread()
    made: list[Any] = []
    for place, path in (("thread", f"/threads/{thread}/runs/crons"), ("stateless", "/runs/crons")):
        body = {
            **visit.leaky("work"),
            "input": {
                **visit.message(f"Tell {visit.plant(f'{place} input')}"),
                "steps": ["work"],
                "route": visit.route,
            },
            "schedule": EVERY_SECOND,
            "metadata": {"note": visit.plant(f"{place} metadata")},
            "context": {"note": visit.plant(f"{place} context")},
            "config": {"tags": [visit.plant(f"{place} tag")]},
            "on_run_completed": "keep",
        }
        made.append(await owner.call("live", "POST", path, body))
    await owner.call("live", "POST", "/runs/crons", {**visit.leaky(), "schedule": visit.plant("schedule")})
    unknown = {**visit.leaky(), "schedule": EVERY_SECOND, "timezone": visit.plant("timezone")}
    await owner.call("live", "POST", "/runs/crons", unknown)
    ids = [cron["cron_id"] for cron in made if isinstance(cron, dict) and "cron_id" in cron]
    visit.expect("crons are made", holds=len(ids) == len(made))
    for cron in ids:
        patch = {"metadata": {"more": visit.plant("patched metadata")}}
        await owner.call("live", "PATCH", f"/runs/crons/{cron}", patch)
        await visit.other.call("foreign", "GET", f"/runs/crons/{cron}")
        await owner.call("later", "GET", f"/runs/crons/{cron}")
    for person in (owner, visit.other):
        await person.call("later", "POST", "/runs/crons/search", {"limit": 100})
        await person.call("later", "POST", "/runs/crons/count", {})
    visit.expect("a cron fires", holds=await _fired(visit, thread))
    for cron in ids:
        await visit.other.call("foreign", "PATCH", f"/runs/crons/{cron}", {"enabled": False})
        await visit.other.call("foreign", "DELETE", f"/runs/crons/{cron}")
        await owner.call("later", "DELETE", f"/runs/crons/{cron}")
    for _ in range(20):
        runs = await owner.call("later", "GET", f"/threads/{thread}/runs")
        if all(run["status"] not in ("pending", "running") for run in runs):
            break
        await asyncio.sleep(0.2)
    visit.expect("the runs of a cron succeed", holds=any(run["status"] == "success" for run in runs))
    await visit.read_thread(thread)
    for found in await owner.call("later", "POST", "/threads/search", {"limit": 100, "sort_by": "created_at"}):
        await owner.call("later", "GET", f"/threads/{found['thread_id']}/history?limit=20")


async def _fired(visit: Visit, thread: str) -> bool:
    for _ in range(CRON_SECONDS * 5):
        runs = await visit.owner.call("later", "GET", f"/threads/{thread}/runs")
        if any(run["status"] in ("success", "error") for run in runs):
            return True
        await asyncio.sleep(0.2)
    return False


async def store(visit: Visit) -> None:
    """Put, get, search and delete items."""
    owner = visit.owner
    item = {
        "namespace": ["notes", "mine"],
        "key": "first",
        "value": {
            "text": f"Write to {visit.plant('value')}",
            visit.plant("key of a value"): [visit.plant("deep value")],
        },
    }
    await owner.send("live", "PUT", "/store/items", item)
    named = {"namespace": ["notes", visit.plant("namespace")], "key": visit.plant("item key"), "value": {"n": 1}}
    await owner.send("live", "PUT", "/store/items", named)
    await owner.call("later", "GET", "/store/items?namespace=notes.mine&key=first")
    query = {"key": visit.plant("key in a query"), "namespace": f"notes.{visit.plant('namespace in a query')}"}
    await owner.call("live", "GET", "/store/items", params=query)
    search = {"namespace_prefix": ["notes"], "query": f"Who is {visit.plant('query of a search')}?", "limit": 10}
    await owner.call("live", "POST", "/store/items/search", search)
    filtered = {"namespace_prefix": ["notes"], "filter": {"text": visit.plant("filter")}, "limit": 10}
    await owner.call("live", "POST", "/store/items/search", filtered)
    await owner.call("live", "POST", "/store/namespaces", {"prefix": ["notes", visit.plant("namespace prefix")]})
    for person in (owner, visit.other):
        await person.call("later", "POST", "/store/items/search", {"namespace_prefix": ["notes"], "limit": 100})
        await person.call("later", "POST", "/store/items/search", {"namespace_prefix": [], "limit": 100})
        await person.call("later", "POST", "/store/namespaces", {"limit": 100})
        await person.call("later", "GET", "/store/items?namespace=notes.mine&key=first")
    found = await owner.call(
        "later", "POST", "/store/items/search", {"namespace_prefix": ["notes", "mine"], "limit": 9}
    )
    visit.expect("the owner finds their item", holds=isinstance(found, dict) and bool(found.get("items")))
    await owner.send("live", "DELETE", "/store/items", {"namespace": ["notes", "mine"], "key": "first"})


SCENES = {"assistants": assistants, "crons": crons, "store": store}

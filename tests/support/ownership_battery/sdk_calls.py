"""Every call of LangGraph's SDK, made by Carol with what is Ann's."""

import asyncio
from contextlib import suppress
from inspect import isawaitable

from ownership_battery.things import NEVER

SECONDS = 60
"""By then each of these streams has ended by itself, also on a machine that has much to do."""


async def heard(stream):
    """Return what a stream says until it ends."""
    async with asyncio.timeout(SECONDS):
        return [part async for part in (await stream if isawaitable(stream) else stream)]


async def told(client, t):
    """Return the answers to commands and the events of a thread of the event protocol."""
    parts = []
    async with asyncio.timeout(SECONDS), client.threads.stream(t.thread_id, assistant_id="waiting") as stream:
        with suppress(Exception):  # refusals are what is hoped for
            parts.append(await stream.run.start(input={"said": "x"}))
        return parts + [event async for event in stream.events]


ENDS = "an error"
NOTHING = "nothing of hers"

CALLS = {
    "threads.get": (ENDS, lambda c, t: c.threads.get(t.thread_id)),
    "threads.create": (ENDS, lambda c, t: c.threads.create(thread_id=t.thread_id, if_exists="do_nothing")),
    "threads.update": (ENDS, lambda c, t: c.threads.update(t.thread_id, metadata={"x": 1})),
    "threads.delete": (ENDS, lambda c, t: c.threads.delete(t.thread_id)),
    "threads.prune": (ENDS, lambda c, t: c.threads.prune([t.thread_id])),
    "threads.search": (NOTHING, lambda c, t: c.threads.search(ids=[t.thread_id, t.asking_id])),
    "threads.count": (NOTHING, lambda c, t: c.threads.count(metadata={"note": t.word})),
    "threads.copy": (ENDS, lambda c, t: c.threads.copy(t.thread_id)),
    "threads.get_state": (ENDS, lambda c, t: c.threads.get_state(t.thread_id, checkpoint_id=t.checkpoint_id)),
    "threads.update_state": (ENDS, lambda c, t: c.threads.update_state(t.thread_id, {"said": "changed"})),
    "threads.get_history": (ENDS, lambda c, t: c.threads.get_history(t.thread_id)),
    "threads.join_stream": (NOTHING, lambda c, t: heard(c.threads.join_stream(t.thread_id, last_event_id="-"))),
    "threads.stream": (NOTHING, told),
    "runs.create": (ENDS, lambda c, t: c.runs.create(t.thread_id, "waiting", if_not_exists="create")),
    "runs.stream": (ENDS, lambda c, t: heard(c.runs.stream(t.thread_id, "waiting", input={}))),
    "runs.wait": (ENDS, lambda c, t: c.runs.wait(None, t.assistant_id, input={})),
    "runs.create_batch": (ENDS, lambda c, t: c.runs.create_batch([{"assistant_id": t.assistant_id, "input": {}}])),
    "runs.list": (ENDS, lambda c, t: c.runs.list(t.thread_id)),
    "runs.get": (ENDS, lambda c, t: c.runs.get(t.thread_id, t.run_id)),
    "runs.cancel": (ENDS, lambda c, t: c.runs.cancel(t.thread_id, t.run_id)),
    "runs.cancel_many": (ENDS, lambda c, t: c.runs.cancel_many(thread_id=t.thread_id, run_ids=[t.run_id])),
    "runs.join": (ENDS, lambda c, t: c.runs.join(t.thread_id, t.run_id)),
    "runs.join_stream": (NOTHING, lambda c, t: heard(c.runs.join_stream(t.thread_id, t.run_id, last_event_id="-"))),
    "runs.delete": (ENDS, lambda c, t: c.runs.delete(t.thread_id, t.run_id)),
    "assistants.get": (ENDS, lambda c, t: c.assistants.get(t.assistant_id)),
    "assistants.get_graph": (ENDS, lambda c, t: c.assistants.get_graph(t.assistant_id)),
    "assistants.get_schemas": (ENDS, lambda c, t: c.assistants.get_schemas(t.assistant_id)),
    "assistants.get_subgraphs": (ENDS, lambda c, t: c.assistants.get_subgraphs(t.assistant_id, "x", recurse=True)),
    "assistants.create": (
        ENDS,
        lambda c, t: c.assistants.create("waiting", assistant_id=t.assistant_id, if_exists="do_nothing"),
    ),
    "assistants.update": (ENDS, lambda c, t: c.assistants.update(t.assistant_id, name="changed")),
    "assistants.delete": (ENDS, lambda c, t: c.assistants.delete(t.assistant_id, delete_threads=True)),
    "assistants.search": (NOTHING, lambda c, _: c.assistants.search(graph_id="waiting", limit=1000)),
    "assistants.count": (NOTHING, lambda c, t: c.assistants.count(name=t.word)),
    "assistants.get_versions": (ENDS, lambda c, t: c.assistants.get_versions(t.assistant_id)),
    "assistants.set_latest": (ENDS, lambda c, t: c.assistants.set_latest(t.assistant_id, 1)),
    "crons.create": (ENDS, lambda c, t: c.crons.create(t.assistant_id, schedule=NEVER)),
    "crons.create_for_thread": (ENDS, lambda c, t: c.crons.create_for_thread(t.thread_id, "waiting", schedule=NEVER)),
    "crons.update": (ENDS, lambda c, t: c.crons.update(t.cron_id, schedule="0 1 * * *")),
    "crons.delete": (ENDS, lambda c, t: c.crons.delete(t.cron_id)),
    "crons.search": (NOTHING, lambda c, t: c.crons.search(thread_id=t.thread_id)),
    "crons.count": (NOTHING, lambda c, t: c.crons.count(metadata={"note": t.word})),
    "store.put_item": (NOTHING, lambda c, t: c.store.put_item(t.namespace, t.word, {"text": "changed"})),
    "store.get_item": (NOTHING, lambda c, t: c.store.get_item(["notes", t.word], t.word)),
    "store.delete_item": (NOTHING, lambda c, t: c.store.delete_item(t.namespace, t.word)),
    "store.search_items": (NOTHING, lambda c, _: c.store.search_items([], limit=1000)),
    "store.list_namespaces": (NOTHING, lambda c, _: c.store.list_namespaces(limit=1000)),
}
"""By the part of the client and the method: what is to be the end of it, and the call."""

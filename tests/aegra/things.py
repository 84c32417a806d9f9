"""What somebody has on Aegra, as `ownership_battery.things` makes it elsewhere, and every operation that they could lose it by."""

import asyncio
import secrets
import string

from ownership_battery.operations import ATTEMPTS, HIDDEN, NOTHING, REFUSED, Attempt, run
from ownership_battery.things import NEVER, Things, let_wait, post

OTHERWISE = {
    # Aegra names no thread of somebody else's in these bodies: they work on the caller's own.
    ("POST", "/threads/prune", ""): {"told": NOTHING, "owner": NOTHING},
    ("POST", "/threads", "supersteps"): {"owner": NOTHING},
    # Lists are searched by owner, and so are empty rather than not there.
    ("GET", "/threads/{thread_id}/runs", ""): {"told": NOTHING},
    ("POST", "/runs/cancel", "all"): {"told": NOTHING, "owner": NOTHING},
    ("POST", "/runs/cancel", "by ids"): {"owner": NOTHING},
    ("POST", "/threads/{thread_id}/runs/{run_id}/cancel", ""): {"owner": NOTHING},
    ("GET", "/threads/{thread_id}/runs/{run_id}/stream", ""): {"told": HIDDEN},
    ("POST", "/threads/{thread_id}/commands", "run.start"): {"told": HIDDEN},
    ("POST", "/threads/{asking_id}/commands", "input.respond"): {"told": HIDDEN},
    ("GET", "/store/items", ""): {"told": HIDDEN},
    ("GET", "/store/items", "as she says"): {"told": HIDDEN},
    # No page of assistants is longer than 100, and nothing is picked out of threads.
    ("POST", "/assistants/search", "all"): {"body": lambda _: {"limit": 100}},
    ("POST", "/assistants/search", "graph"): {"body": lambda _: {"graph_id": "waiting", "limit": 100}},
    ("POST", "/threads/search", "extract"): {"told": frozenset({422}), "owner": None},
}
"""What Aegra tells in the place of LangGraph's own server, by method, path and note."""


def _as_told_here(attempt):
    """Return an attempt with what Aegra tells."""
    values = {**vars(attempt), **OTHERWISE.get((attempt.method, attempt.path, attempt.note), {})}
    return Attempt(**values)


def _hers_at(t):
    return {"checkpoint_id": t.checkpoint_id, "thread_id": t.thread_id, "user_id": t.identity}


AEGRAS_OWN = (
    Attempt(method="GET", path="/threads", told=NOTHING, note="all"),
    Attempt(method="GET", path="/assistants", told=NOTHING, note="all"),
    Attempt(
        method="PATCH",
        path="/threads/{thread_id}/runs/{run_id}",
        told=HIDDEN,
        body=lambda t: {"run_id": t.run_id, "status": "interrupted"},
    ),
    run(
        "at a checkpoint in her name",
        path="/runs/wait",
        told=NOTHING,
        owner=None,
        body=lambda t: {"assistant_id": "waiting", "input": {"said": "x"}, "checkpoint": _hers_at(t)},
    ),
    Attempt(
        method="POST",
        path="/threads/{thread_id}/state",
        told=HIDDEN,
        note="at a checkpoint",
        body=lambda t: {"values": {"said": "changed"}, "checkpoint": _hers_at(t)},
    ),
    Attempt(
        method="POST",
        path="/threads",
        told=REFUSED,
        note="threadId",
        owner=None,
        body=lambda t: {"threadId": t.thread_id},
    ),
)
"""Operations, and ways to use them, that LangGraph's own server has not."""

NOT_HERE = frozenset(
    {
        "/threads/count",
        "/threads/{thread_id}/copy",
        "/threads/{thread_id}/storage",
        "/runs/batch",
        "/assistants/{assistant_id}/subgraphs/{namespace_of_subgraph}",
    }
)
"""Paths of LangGraph's own server that Aegra has not, and `GET /runs/crons/{cron_id}`."""

TABLE = (
    *(
        _as_told_here(attempt)
        for attempt in ATTEMPTS
        if attempt.path not in NOT_HERE and attempt.operation != ("GET", "/runs/crons/{cron_id}")
    ),
    *AEGRAS_OWN,
)

STREAMS = {("POST", "/threads/{thread_id}/stream/events")}
"""They last; a test of their own tries them."""

OPEN = {
    ("GET", path)
    for path in (
        *("/", "/info", "/health", "/ready", "/live", "/ok", "/openapi.json"),
        *("/memory/health", "/memory/health/live", "/memory/health/ready", "/memory/admin/login", "/memory/me/login"),
    )
}
"""Anybody may see them, and sees nothing of anybody."""


async def make_things(client):
    """Make one of each kind."""
    word = "".join(secrets.choice(string.ascii_lowercase) for _ in range(16))
    metadata = {"note": word}
    cron = {
        "assistant_id": "waiting",
        "schedule": NEVER,
        "input": {"said": word},
        "metadata": metadata,
        "enabled": False,
    }
    (thread_id, run_id, checkpoint_id), (asking_id, interrupt_id) = await asyncio.gather(
        _end_a_run(client, word), begin_to_ask(client, word)
    )
    context = {"note": word}  # Aegra lets nobody have two assistants of one graph and one config
    assistant = await post(client, "/assistants", graph_id="waiting", metadata=metadata, name=word, context=context)
    item = await client.put("/store/items", json={"namespace": ["notes", word], "key": word, "value": {"text": word}})
    assert item.is_success, item.text
    entry = await client.post("/memory/store", json={"short_answer": f"The word is {word}."})
    assert entry.status_code == 201, entry.text
    return Things(
        word=word,
        identity=assistant["metadata"]["owner"],
        thread_id=thread_id,
        run_id=run_id,
        checkpoint_id=checkpoint_id,
        asking_id=asking_id,
        interrupt_id=interrupt_id,
        assistant_id=assistant["assistant_id"],
        cron_id=(await post(client, "/runs/crons", **cron))["cron_id"],
        entry_id=entry.headers["location"].rpartition("/")[2],
        proposal_key=await let_wait(client, word),
        delegate_key=(await post(client, "/memory/delegations", delegate_id=word))["delegate_key"],
        erasure_key=(await post(client, "/memory/erasure", scope="thread", session_id=word))["receipt"]["erasure_key"],
        thread_cron_id=(await post(client, f"/threads/{thread_id}/runs/crons", **cron))["cron_id"],
    )


async def _end_a_run(client, word):
    """Return ids of a thread, of its run, which is over, and of its last checkpoint."""
    thread = await post(client, "/threads", metadata={"note": word})
    at = f"/threads/{thread['thread_id']}"
    run = await post(client, f"{at}/runs", assistant_id="waiting", input={"said": word}, metadata={"note": word})
    assert (await client.get(f"{at}/runs/{run['run_id']}/join")).is_success
    state = (await client.get(f"{at}/state")).json()
    return thread["thread_id"], run["run_id"], state["checkpoint"]["checkpoint_id"]


def saying(text, **state):
    """Return the body of a run of the graph that waits, in which its user says `text`."""
    said = {"role": "user", "content": text}
    return {"assistant_id": "waiting", "input": {"said": text, "messages": [said], **state}}


def heard(state):
    """Return what a thread's user has said, if each got an answer."""
    messages = state["messages"]
    assert [message["type"] for message in messages] == ["human", "ai"] * (len(messages) // 2)
    assert [m["content"] for m in messages[1::2]] == [f"I heard: {m['content']}" for m in messages[::2]]
    return [message["content"] for message in messages[::2]]


async def begin_to_ask(client, word):
    """Return ids of a thread whose run waits for an answer, and of the question."""
    thread_id = (await post(client, "/threads", metadata={"note": word}))["thread_id"]
    await post(client, f"/threads/{thread_id}/runs/wait", **saying(f"ask {word}"))
    state = (await client.get(f"/threads/{thread_id}/state")).json()
    return thread_id, state["interrupts"][0]["id"]


def looks_at(t):
    """Return path and body of looks at all of somebody's things."""
    at, asking = f"/threads/{t.thread_id}", f"/threads/{t.asking_id}"
    paths = (at, f"{at}/state", f"{at}/runs", f"{at}/history?limit=100", asking, f"{asking}/runs", f"{asking}/state")
    return (
        *((path, None) for path in paths),
        (f"/assistants/{t.assistant_id}", None),
        (f"/assistants/{t.assistant_id}/versions", {}),
        ("/runs/crons/search", {"metadata": {"note": t.word}}),
        ("/store/items/search", {"namespace_prefix": ["notes", t.word]}),
        (f"/memory/entry/{t.entry_id}", None),
        ("/memory/proposals", None),
        ("/memory/delegations", None),
    )


async def seen(client, t):
    """Return what the server tells of somebody's things."""

    async def look(path, body):
        answer = await (client.get(path) if body is None else client.post(path, json=body))
        return path, (answer.status_code, answer.text)

    return dict(await asyncio.gather(*(look(*each) for each in looks_at(t))))

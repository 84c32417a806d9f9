"""What somebody has on a server: a thing of each kind, which all say one word that nobody else knows."""

import secrets
import string
from dataclasses import dataclass

NEVER = "0 0 29 2 *"
"""A schedule whose time does not come during a test."""


@dataclass(frozen=True, kw_only=True)
class Things:
    """Ids, and the word."""

    word: str
    identity: str
    thread_id: str
    run_id: str
    checkpoint_id: str
    asking_id: str
    """A thread whose run waits for an answer."""
    interrupt_id: str
    assistant_id: str
    cron_id: str
    thread_cron_id: str
    entry_id: str
    """Of a memory."""

    @property
    def namespace(self):
        """Where the item of the store is, as the database has it."""
        return ["users", self.identity, "notes", self.word]

    def secrets(self):
        """Return what nobody else may be told."""
        return {value for value in vars(self).values() if isinstance(value, str)}


async def post(client, path, **body):
    """Return the answer to a request that has to succeed."""
    response = await client.post(path, json=body)
    assert response.is_success, f"{path}: {response.status_code} {response.text}"
    return response.json()


async def make_things(client):
    """Make one of each kind."""
    word = "".join(secrets.choice(string.ascii_lowercase) for _ in range(16))
    metadata = {"note": word}
    assistant = await post(client, "/assistants", graph_id="waiting", metadata=metadata, name=word)
    thread = await post(client, "/threads", metadata=metadata)
    at = f"/threads/{thread['thread_id']}"
    run = await post(
        client, f"{at}/runs", assistant_id="waiting", input={"said": word}, metadata=metadata, stream_resumable=True
    )
    assert (await client.get(f"{at}/runs/{run['run_id']}/join")).is_success
    asking = await post(client, "/threads", metadata=metadata)
    await post(
        client, f"/threads/{asking['thread_id']}/runs/wait", assistant_id="waiting", input={"said": f"ask {word}"}
    )
    asked = (await client.get(f"/threads/{asking['thread_id']}")).json()
    state = (await client.get(f"{at}/state")).json()
    cron = {"assistant_id": "waiting", "schedule": NEVER, "input": {"said": word}, "metadata": metadata}
    item = await client.put("/store/items", json={"namespace": ["notes", word], "key": word, "value": {"text": word}})
    assert item.is_success
    entry = await client.post("/memory/store", json={"short_answer": f"The word is {word}."})
    assert entry.status_code == 201, entry.text
    return Things(
        word=word,
        identity=thread["metadata"]["owner"],
        thread_id=thread["thread_id"],
        run_id=run["run_id"],
        checkpoint_id=state["checkpoint"]["checkpoint_id"],
        asking_id=asking["thread_id"],
        interrupt_id=next(i["id"] for many in asked["interrupts"].values() for i in many),
        assistant_id=assistant["assistant_id"],
        cron_id=(await post(client, "/runs/crons", **cron))["cron_id"],
        entry_id=entry.headers["location"].rpartition("/")[2],
        thread_cron_id=(await post(client, f"{at}/runs/crons", **cron))["cron_id"],
    )


async def all_of(client, things):
    """Return all that the server says of somebody's things."""
    at = f"/threads/{things.thread_id}"
    looks = [
        *((path, None) for path in (at, f"{at}/state", f"{at}/runs", f"{at}/runs/{things.run_id}")),
        (f"{at}/history?limit=100", None),
        (f"/threads/{things.asking_id}", None),
        (f"/threads/{things.asking_id}/runs", None),
        (f"/assistants/{things.assistant_id}", None),
        (f"/assistants/{things.assistant_id}/versions", {}),
        (f"/runs/crons/{things.cron_id}", None),
        (f"/memory/entry/{things.entry_id}", None),
        (f"/runs/crons/{things.thread_cron_id}", None),
        ("/threads/count", {"metadata": {"note": things.word}}),
        ("/store/items/search", {"namespace_prefix": ["notes", things.word]}),
        ("/store/namespaces", {"prefix": ["notes", things.word]}),
    ]
    answers = {}
    for path, body in looks:
        response = await (client.get(path) if body is None else client.post(path, json=body))
        assert response.is_success, f"{path}: {response.status_code} {response.text}"
        answers[path] = response.json()
    return answers

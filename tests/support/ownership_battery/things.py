"""What somebody has on a server: a thing of each kind, which all say one word that nobody else knows."""

import asyncio
import secrets
import string
from dataclasses import dataclass

NEVER = "0 0 29 2 *"
"""A schedule whose time does not come during a test."""


@dataclass(frozen=True, kw_only=True)
class Things:
    """Ids, and the word. A server without threads has none of their ids."""

    word: str
    identity: str
    thread_id: str = ""
    run_id: str = ""
    checkpoint_id: str = ""
    asking_id: str = ""
    """A thread whose run waits for an answer."""
    interrupt_id: str = ""
    assistant_id: str = ""
    cron_id: str = ""
    thread_cron_id: str = ""
    entry_id: str
    """Of a memory."""
    proposal_key: str
    """Of a memory that waits for a yes."""
    delegate_key: str
    """Of somebody who may read."""
    erasure_key: str
    """Of an erasure of a thread that never was."""

    @property
    def namespace(self):
        """Where the item of the store is, as the database has it."""
        return ["users", self.identity, "notes", self.word]

    def secrets(self):
        """Return what nobody else may be told."""
        return {value for value in vars(self).values() if isinstance(value, str) and value}


async def post(client, path, **body):
    """Return the answer to a request that has to succeed."""
    response = await client.post(path, json=body)
    assert response.is_success, f"{path}: {response.status_code} {response.text}"
    return response.json()


async def end_a_run(client, word):
    """Return ids of a thread, of its run, which is over, and of its last checkpoint."""
    thread = await post(client, "/threads", metadata={"note": word})
    at, said = f"/threads/{thread['thread_id']}", {"assistant_id": "waiting", "input": {"said": word}}
    run = await post(client, f"{at}/runs", **said, metadata={"note": word}, stream_resumable=True)
    assert (await client.get(f"{at}/runs/{run['run_id']}/join")).is_success
    state = (await client.get(f"{at}/state")).json()
    return thread["thread_id"], run["run_id"], state["checkpoint"]["checkpoint_id"]


async def begin_to_ask(client, word):
    """Return ids of a thread whose run waits for an answer, and of the question."""
    thread_id = (await post(client, "/threads", metadata={"note": word}))["thread_id"]
    await post(client, f"/threads/{thread_id}/runs/wait", assistant_id="waiting", input={"said": f"ask {word}"})
    asked = (await client.get(f"/threads/{thread_id}")).json()
    return thread_id, next(i["id"] for many in asked["interrupts"].values() for i in many)


async def let_wait(client, word):
    """Return the key of a memory that waits for a yes."""
    await post(client, "/runs/wait", assistant_id="waiting", input={"said": f"propose {word}"})
    waiting = (await client.get("/memory/proposals")).json()["proposals"]
    return next(each["proposal_key"] for each in waiting if word in each["text"])


def new_word():
    """Return a word that nobody else knows."""
    return "".join(secrets.choice(string.ascii_lowercase) for _ in range(16))


async def make_memories(client, word):
    """Make what the REST API keeps of somebody, but for a memory that waits; return its ids as `Things` has them."""
    entry = await client.post("/memory/store", json={"short_answer": f"The word is {word}."})
    assert entry.status_code == 201, entry.text
    erasure = await post(client, "/memory/erasure", scope="thread", session_id=word)
    return {
        "entry_id": entry.headers["location"].rpartition("/")[2],
        "delegate_key": (await post(client, "/memory/delegations", delegate_id=word))["delegate_key"],
        "erasure_key": erasure["receipt"]["erasure_key"],
    }


async def make_things(client):
    """Make one of each kind."""
    word = new_word()
    metadata = {"note": word}
    cron = {"assistant_id": "waiting", "schedule": NEVER, "input": {"said": word}, "metadata": metadata}
    (thread_id, run_id, checkpoint_id), (asking_id, interrupt_id) = await asyncio.gather(
        end_a_run(client, word), begin_to_ask(client, word)
    )
    assistant = await post(client, "/assistants", graph_id="waiting", metadata=metadata, name=word)
    item = await client.put("/store/items", json={"namespace": ["notes", word], "key": word, "value": {"text": word}})
    assert item.is_success
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
        thread_cron_id=(await post(client, f"/threads/{thread_id}/runs/crons", **cron))["cron_id"],
        **await make_memories(client, word),
        proposal_key=await let_wait(client, word),
    )


PARTS = ("threads", "assistants", "crons", "store", "memory")


def part_of(path):
    """Return the kind of things that an operation is about."""
    if "/crons" in path:
        return "crons"
    first = path.split("/")[1]
    return first if first in PARTS else "threads"  # what a run works on


def looks_at(t):
    """Return path and body of every look at somebody's things, by the part."""
    at, asking = f"/threads/{t.thread_id}", f"/threads/{t.asking_id}"
    paths = (
        at,
        f"{at}/state",
        f"{at}/runs",
        f"{at}/runs/{t.run_id}",
        f"{at}/history?limit=100",
        asking,
        f"{asking}/runs",
    )
    return {
        "threads": [*((path, None) for path in paths), ("/threads/count", {"metadata": {"note": t.word}})],
        "assistants": [
            (f"/assistants/{t.assistant_id}", None),
            (f"/assistants/{t.assistant_id}/versions", {}),
        ],
        "crons": [(f"/runs/crons/{t.cron_id}", None), (f"/runs/crons/{t.thread_cron_id}", None)],
        "store": [
            ("/store/items/search", {"namespace_prefix": ["notes", t.word]}),
            ("/store/namespaces", {"prefix": ["notes", t.word]}),
        ],
        "memory": [
            (f"/memory/entry/{t.entry_id}", None),
            ("/memory/proposals", None),
            ("/memory/delegations", None),
        ],
    }


class Untouched:
    """What the server said of somebody's things when they were made, and whether it still does."""

    def __init__(self, client, things, parts=PARTS):
        self._client, self._looks, self._parts, self._said = client, looks_at(things), parts, {}

    def __getitem__(self, path):
        return self._said[path]

    async def check(self, *parts):
        """Look at these parts, or at all; each look is 10 ms of the server's work, and there are many tests."""
        looks = [look for part in parts or self._parts for look in self._looks[part]]
        answers = dict(await asyncio.gather(*(self._look(*look) for look in looks)))
        before = {path: self._said.get(path, answer) for path, answer in answers.items()}
        self._said |= answers  # who did harm is told of it, and not those who come later
        assert answers == before

    async def _look(self, path, body):
        response = await (self._client.get(path) if body is None else self._client.post(path, json=body))
        assert response.is_success, f"{path}: {response.status_code} {response.text}"
        return path, response.json()

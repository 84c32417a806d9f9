"""A thread whose row a server has lost, as one does that is killed before it writes its rows down; its checkpoints are there."""

from uuid import uuid4

import psycopg

from ownership_battery.things import post

TABLES = ("checkpoint_threads", "checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_messages")


def saying(text):
    """Return a turn that makes its thread if there is none."""
    return {
        "assistant_id": "agent",
        "input": {"messages": [{"role": "user", "content": text}]},
        "if_not_exists": "create",
    }


async def make_lost_thread(client, dsn, word):
    """Return the id of a thread in which `word` was said, and which only the checkpointer of the server at `dsn` knows."""
    thread = (await post(client, "/threads"))["thread_id"]
    await post(client, f"/threads/{thread}/runs/wait", **saying(f"My word is {word}."))
    lost = str(uuid4())
    with psycopg.connect(dsn) as connection:
        for table in TABLES:
            connection.execute(f"UPDATE {table} SET thread_id = %s WHERE thread_id = %s", (lost, thread))
    assert (await client.get(f"/threads/{lost}/state")).status_code == 404
    return lost


async def check_only_its_owner_goes_on(owner, others, thread, word):
    """Try to make the thread again: whoever is not its owner is answered as if it were there."""
    run = saying("Hello!")
    for other in others:
        for path, body, expected in (
            ("/threads", {"thread_id": thread}, {409}),
            ("/threads", {"thread_id": thread, "if_exists": "do_nothing"}, {409}),
            (f"/threads/{thread}/runs/wait", run, {404}),
            (f"/threads/{thread}/runs", run, {404}),
            (f"/threads/{thread}/runs/stream", run, {404}),
            (f"/threads/{thread}/copy", {}, {404, 409}),
        ):
            answer = await other.post(path, json=body)
            assert answer.status_code in expected, f"{path}: {answer.status_code} {answer.text}"
            assert word not in answer.text
        for path in (f"/threads/{thread}", f"/threads/{thread}/state", f"/threads/{thread}/history"):
            answer = await other.get(path)
            assert answer.status_code == 404, f"{path}: {answer.status_code} {answer.text}"
    await check_goes_on(owner, thread, word)


async def check_goes_on(owner, thread, word):
    """Go on in the thread, which is made for that."""
    answer = await post(owner, f"/threads/{thread}/runs/wait", **saying("Hello!"))
    first, *_, last = answer["messages"]
    assert word in first["content"]
    assert len(answer["messages"]) == 4
    assert last["type"] == "ai"

"""Whose data there is, as administrators see it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row
from testkit.conflicts import plant_conflict
from testkit.conversations import talk
from testkit.proposals import plant_proposal

from discreet.access.actor import Actor, acting
from discreet.rights.erasure import Erasures, Scope
from discreet.state.records import MemoryRecord
from discreet.storage.audit.exporting import entries
from discreet.storage.people.listing import build_active, build_quiet

LONG_AGO = datetime.now(UTC) - timedelta(days=3)


@pytest.fixture
def people(storage):
    return storage.people


@pytest.fixture
def key_of(storage):
    return storage.background.key_of


def fact(text, **values):
    return MemoryRecord(text=text, **values)


@pytest.mark.dialect
async def test_who_talked_last_comes_first_and_pages_have_everybody_once(storage, people, key_of):
    for number, user in enumerate(("ann", "bob", "cid", "dee")):
        await talk(storage, "Hello", "again", user=user, thread=f"of {user}", at=LONG_AGO + timedelta(hours=number))
    await talk(storage, "I am back", user="ann", thread="another")
    found, before = [], None
    while page := await people.active(limit=2, before=before):
        found += [person.user_key for _, person in page]
        before = page[-1][0]
    assert found == [key_of(user) for user in ("ann", "dee", "cid", "bob")]


async def test_counts_are_of_what_holds_now(storage, people, key_of, database):
    await talk(storage, "I keep two parrots", "I live in Hanoi", user="ann")
    ended = fact("Ann lives in Hue", created_at=LONG_AGO, valid_to=LONG_AGO + timedelta(hours=1))
    await storage.memories.save(
        "ann", [fact("Ann keeps two parrots"), ended, fact("A turn", type="turn", thread_id="t", position=1)]
    )
    plant_proposal(database, key_of("ann"), text="Ann likes tea")
    person = await people.get(key_of("ann"))
    assert (person.memories, person.turns, person.waiting, person.conflicts) == (1, 2, 1, 0)
    assert not person.is_thread
    assert person.seen_at is not None


@pytest.mark.dialect
async def test_who_has_memories_alone_is_listed_apart_and_namespaces_are_nobody(storage, people, key_of):
    await talk(storage, "Hello", user="ann")
    await storage.memories.save("bob", [fact("Bob imported this")])
    await storage.store.aput(("things",), "one", {"text": "an item"})
    assert [person.user_key for _, person in await people.active(limit=9)] == [key_of("ann")]
    [quiet] = await people.quiet(limit=9)
    assert (quiet.user_key, quiet.memories, quiet.turns) == (key_of("bob"), 1, 0)
    assert await people.quiet(limit=9, after=key_of("bob")) == []


async def test_a_conversation_without_a_user_is_told_as_such(storage, people):
    await talk(storage, "Hello", user=None, thread="nobody's")
    [(_, person)] = await people.active(limit=9)
    assert person.is_thread


async def test_nobody_is_made_by_a_look(people):
    assert await people.get(uuid4()) is None
    assert not await people.settle(uuid4(), uuid4(), uuid4(), "both")
    assert await people.active(limit=9) == []


@pytest.fixture
async def life(storage, database, key_of):
    """Somebody of whom there is one of each kind, and whose key."""
    await talk(storage, "I keep two parrots", user="ann", thread="talk")
    await storage.memories.save("ann", [fact("Ann keeps two parrots", thread_id="talk")])
    plant_proposal(database, key_of("ann"), text="Ann likes tea")
    with psycopg.connect(database, autocommit=True) as connection:
        given = {"user_key": key_of("ann"), "key": uuid4()}
        connection.execute(
            """
INSERT INTO discreet.session_summary (user_key, thread_key, thread_id, app_name, said, event_count, started_at, ended_at)
VALUES (%(user_key)s, %(key)s, 'talk', 'default', '{"summary": "They spoke of parrots"}', 1, now(), now());
""",
            given,
        )
        connection.execute(
            """
INSERT INTO discreet.rolling_summary (user_key, thread_key, thread_id, text, rounds, updated_at)
VALUES (%(user_key)s, %(key)s, 'talk', 'Parrots, in short', 5, now());
""",
            given,
        )
        connection.execute(
            """
INSERT INTO discreet.batch_requests (user_key, request_key, kind, thread_key, thread_id, app_name, trigger, epoch, request_ids,
    state, created_at, due_at)
VALUES (%(user_key)s, %(key)s, 'extraction', %(key)s, 'talk', 'default', 'inactivity', 1, '{a,b}', 'pending', now(), now());
""",
            given,
        )
    await Erasures(storage).erase("ann", Scope.model_validate({"name": "said", "text": "nothing of the kind"}))
    return key_of("ann")


@pytest.mark.slow
async def test_the_timeline_has_all_kinds_in_the_order_of_time(people, life):
    found = await people.timeline(life, limit=50)
    assert [entry.at for entry in found] == sorted((entry.at for entry in found), reverse=True)
    values = {entry.kind: entry.value for entry in found}
    assert values["turn"].input_text == "I keep two parrots"
    assert values["memory"].text == "Ann keeps two parrots"
    assert values["proposal"].text == "Ann likes tea"
    assert values["session_summary"].summary == "They spoke of parrots"
    assert values["rolling_summary"] == "Parrots, in short"
    assert values["job"]["turns"] == 2
    assert values["erasure"]["scope"] == "said"
    assert {entry.thread_id for entry in found if entry.kind in ("turn", "memory", "job")} == {"talk"}


@pytest.mark.slow
@pytest.mark.dialect
async def test_the_pages_of_a_timeline_have_everything_once(people, life):
    whole = await people.timeline(life, limit=50)
    found, before = [], None
    while page := await people.timeline(life, limit=2, before=before):
        found += page
        before = page[-1].mark
    assert [entry.mark for entry in found] == [entry.mark for entry in whole]


async def test_an_administrators_look_is_in_the_trail_of_whose_it_is(storage, people, life):
    with acting(Actor(kind="admin", identity="olga")):
        await people.timeline(life, limit=50, kinds=("turn", "memory"))
    rows = [row async for row in entries(storage.works_pool) if row["action"] == "user.read"]
    assert [(row["user_key"], row["counts"]) for row in rows] == [(life, {"memory": 1, "turn": 1})]


@pytest.mark.dialect
async def test_a_chain_says_what_came_before_and_after(storage, people, key_of):
    old = fact("Ann lives in Hue", created_at=LONG_AGO, valid_to=LONG_AGO + timedelta(hours=1))
    new = fact("Ann lives in Hanoi", created_at=LONG_AGO + timedelta(hours=1))
    other = fact("Ann likes tea", type="preference", created_at=LONG_AGO + timedelta(hours=1))
    await storage.memories.save("ann", [old, new, other])
    before, after = [await people.chain(key_of("ann"), each) for each in (old, new)]
    assert [each.text for each in before.later] == ["Ann lives in Hanoi"]
    assert [each.text for each in after.former] == ["Ann lives in Hue"]
    assert (before.former, after.later) == ([], [])


@pytest.fixture
async def pair(storage, database, key_of):
    """Two memories that may not both hold: the older one, the newer one."""
    older = fact("Ann is a vegetarian", created_at=LONG_AGO)
    newer = fact("Ann eats fish", created_at=LONG_AGO + timedelta(hours=1), conflict_flags=[str(older.entry_id)])
    await storage.memories.save("ann", [older, newer], dedup=False)
    plant_conflict(database, key_of("ann"), older, newer)
    return older, newer


@pytest.mark.dialect
@pytest.mark.parametrize("keep", ["older", "newer", "both"])
async def test_a_conflict_is_settled_once_and_what_is_not_kept_has_ended(storage, people, key_of, pair, keep):
    user_key, (older, newer) = key_of("ann"), pair
    [conflict] = await people.conflicts(limit=9)
    assert (conflict.older.text, conflict.newer.text) == (older.text, newer.text)
    with acting(Actor(kind="admin", identity="olga")):
        assert await people.settle(user_key, older.entry_id, newer.entry_id, keep)
        assert not await people.settle(user_key, older.entry_id, newer.entry_id, keep)
    assert await people.conflicts(limit=9) == []
    latest = {each.entry_id: each for each in await storage.memories.latest("ann")}
    names = {older.entry_id: "older", newer.entry_id: "newer"}
    assert {names[entry_id] for entry_id in latest} == ({"older", "newer"} if keep == "both" else {keep})
    assert all(each.conflict_flags == [] for each in latest.values())
    if keep == "newer":
        chain = await people.chain(user_key, newer)
        assert [each.text for each in chain.former] == [older.text]
    rows = [row async for row in entries(storage.works_pool) if row["action"] == "memory.settle"]
    assert [(row["user_key"], row["actor_kind"]) for row in rows] == [(user_key, "admin")]


@pytest.mark.dialect
async def test_conflicts_of_one_person_and_pages_of_them(people, key_of, pair):
    assert await people.conflicts(user_key=key_of("bob"), limit=9) == []
    [conflict] = await people.conflicts(user_key=key_of("ann"), limit=9)
    assert await people.conflicts(limit=9, after=conflict.mark) == []


@pytest.mark.slow
async def test_memories_by_key_are_those_of_the_user(storage, people, key_of):
    await storage.memories.save("ann", [fact("Ann keeps two parrots")])
    [found] = await people.memories.search(str(key_of("ann")), "parrots")
    assert found.record.text == "Ann keeps two parrots"
    assert await people.memories.delete(str(key_of("ann")), found.record.entry_id)
    assert await storage.memories.latest("ann") == []


MANY = """
INSERT INTO discreet.users (user_key) SELECT md5(n::text)::uuid FROM generate_series(1, 100000) n;
INSERT INTO discreet.user_memories (user_key, memories) SELECT md5(n::text)::uuid, 1 FROM generate_series(1, 100000) n;
INSERT INTO discreet.conversation_log (user_key, request_id, thread_key, app_name, modality, input_text, output_text, is_emergency,
    loop_flag, provenance, started_at, ended_at)
SELECT md5(n::text)::uuid, n::text, md5(n::text)::uuid, 'default', 'text', 'Hello', 'Hello', false, false, '{}',
    now() - n * interval '10 seconds', now() - n * interval '10 seconds'
FROM generate_series(1, 90000) n;
ANALYZE discreet.users, discreet.user_memories, discreet.conversation_log;
"""


@pytest.fixture
def many(database):
    """A hundred thousand people, a tenth of whom have no turn."""
    with psycopg.connect(database, autocommit=True, row_factory=dict_row) as connection:
        for statement in filter(str.strip, MANY.split(";")):
            connection.execute(statement)
        yield connection


def rows_read(plan):
    """Return how many rows the nodes of a plan have read, with those that they threw away."""
    own = (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"]
    return own + sum(map(rows_read, plan.get("Plans", ())))


@pytest.mark.slow
def test_a_page_of_a_hundred_thousand_people_reads_some_of_them(many):
    for statement, given in (build_active(limit=26, before=None), build_quiet(limit=26, after=None)):
        [row] = many.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", given).fetchall()
        assert rows_read(row["QUERY PLAN"][0]["Plan"]) < 5_000
    rows = many.execute(*build_active(limit=26, before=None)).fetchall()
    statement, given = build_active(limit=26, before=(rows[-1]["ended_at"], rows[-1]["user_key"]))
    [row] = many.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", given).fetchall()
    assert rows_read(row["QUERY PLAN"][0]["Plan"]) < 5_000

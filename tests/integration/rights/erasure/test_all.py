"""Erasing all of a user: nothing is left that they said, whatever it went through, and the receipt has none of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import UUID

import psycopg
import pytest
from kit.places import snapshot
from testkit.erasing import found
from testkit.keys import USER_KEYS

from discreet.rights.erasure import Erasures, Scope
from discreet.rights.erasure.tables import OWNED
from discreet.state.records import MemoryRecord
from discreet.storage.audit.sealing import AuditSealer
from discreet.storage.audit.verifying import verify
from discreet.storage.database.keys import digest

ANN = USER_KEYS.of_user("ann")

STAYS = {"users", "erasure", "checkpoint_threads", "audit_entry", "audit_chain", "audit_sealed_head"}
"""Tables that may name a user who was erased: by a pseudonym, or by a thread that was deleted today."""


@pytest.fixture
async def full(house):
    """Return a house in which a word of Ann's has gone through everything, and Bob's own word beside it."""
    for user, word in (("ann", "zebrafinch"), ("bob", "nightingale")):
        thread = f"{user}-talk"
        for number in range(6):
            await house.say(f"I heard a {word} at {number}", user=user, thread=thread)
        await house.say(f"remember: I own a {word}", user=user, thread=thread)
        await house.say(f"ask: may the {word} sing?", user=user, thread=f"{user}-paused")
        await house.storage.store.aput(("users", user, "notes"), word, {"text": f"A {word} is here"})
        moment = MemoryRecord(text=f"The {word} was born", type="user_fact", reasoning=f"It said {word}")
        [kept] = await house.storage.memories.save(user, [moment])
        await house.storage.memories.add_feedback(user, kept.entry_id, {"comment": f"yes, {word}"})
        await house.storage.background.sessions.take(USER_KEYS.of_user(user), digest(thread), "manual")
    return house


@pytest.mark.slow
async def test_nothing_is_left_anywhere(full, database):
    assert len(found(database, "zebrafinch")) > 6, "it was everywhere before"
    others = len(found(database, "nightingale"))
    namespaces = [("users", "ann")]
    receipt = await full.erasures.erase("ann", Scope.everything(namespaces))
    assert found(database, "zebrafinch") == set()
    assert found(database, "ann-talk", "ann-paused") <= {"checkpoint_threads"}
    assert found(database, str(ANN)) <= STAYS
    assert len(found(database, "nightingale")) == others, "nothing of somebody else's went"
    receipt.check(USER_KEYS)
    said = receipt.model_dump_json()
    assert "zebrafinch" not in said
    assert "ann" not in said.replace("unreached", "")
    assert receipt.counts["database"]["conversation_log"] == 7
    assert receipt.counts["checkpoints"]["threads"] == 2
    assert receipt.counts["store"]["store_item"] == 1


@pytest.mark.parametrize("user_id", [7, 0, UUID("0d2c5b1e-7a44-4f0b-9b7a-3f2f6f0c9e11")])
async def test_who_is_known_by_a_number_is_erased_by_its_text(house, database, user_id):
    await house.say("I heard a zebrafinch", user=user_id, thread=8)
    await house.storage.memories.save(user_id, [MemoryRecord(text="Owns a zebrafinch")])
    await house.say("ask: may the zebrafinch sing?", user=user_id, thread=9)
    assert found(database, "zebrafinch")
    receipt = await house.erasures.erase(str(user_id), Scope.everything())
    assert found(database, "zebrafinch") == set()
    assert receipt.counts["checkpoints"]["threads"] == 2
    assert receipt.user_key == USER_KEYS.of_user(user_id)


@pytest.mark.slow
async def test_a_dry_run_counts_and_changes_nothing(full, database):
    before = snapshot(database)
    counts = await full.erasures.preview("ann", Scope.everything([("users", "ann")]))
    assert snapshot(database) == before
    receipt = await full.erasures.erase("ann", Scope.everything([("users", "ann")]))
    wanted = {(place, kind): n for place, kinds in counts.items() for kind, n in kinds.items()}
    got = {(place, kind): n for place, kinds in receipt.counts.items() for kind, n in kinds.items()}
    assert wanted == got


@pytest.mark.slow
async def test_the_user_comes_back_by_a_new_message(full, database):
    await full.erasures.erase("ann", Scope.everything())
    await full.say("I like quails", thread="ann-talk")
    assert await full.told(thread="ann-talk") == ["I like quails", "I heard: I like quails"]
    [logged] = await full.storage.log.read("ann")
    assert logged.input_text == "I like quails"


@pytest.mark.slow
async def test_moments_stay_without_their_user(house, database):
    said_at = datetime(2026, 3, 1, 14, 25, tzinfo=UTC)
    moment = MemoryRecord(
        text="Her daughter was born",
        type="important_moment",
        created_at=said_at,
        thread_id="ann-talk",
        request_id="request-of-ann",
        agent_id="agent",
        tags=["family"],
    )
    await house.storage.memories.save("ann", [moment])
    receipt = await house.erasures.erase("ann", Scope.everything())
    assert receipt.counts["moments"] == {"kept without their user": 1}
    [kept] = await house.erasures.moments.list(limit=10)
    assert (kept.text, kept.created_at) == ("Her daughter was born", datetime(2026, 3, 1, tzinfo=UTC))
    assert (kept.thread_id, kept.request_id, kept.agent_id, kept.tags) == (None, None, None, [])
    assert kept.entry_id != moment.entry_id
    assert found(database, str(ANN), "ann-talk", "request-of-ann", "agent-", "family") <= STAYS
    assert await house.erasures.moments.delete(kept.entry_id)
    assert await house.erasures.moments.list(limit=10) == []


@pytest.mark.slow
async def test_a_killed_erasure_is_gone_on_with(full, database, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await full.erasures.erase("ann", Scope.everything([("users", "ann")]), progress=killed)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE discreet.erasure SET lease_until = now() - interval '1 second'")
        [(plan,)] = connection.execute("SELECT plan FROM discreet.erasure").fetchall()
        assert b"ann" not in plan
    other = Erasures(full.storage)
    [receipt] = await other.resume()
    receipt.check(USER_KEYS)
    assert found(database, "zebrafinch") == set()
    assert await other.resume() == []
    assert await other.jobs.receipt(ANN, receipt.erasure_key) == receipt


@pytest.mark.slow
async def test_one_that_was_killed_ends_with_the_next_and_takes_nothing_that_came_since(full, database):
    def killed(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await full.erasures.erase("ann", Scope.everything([("users", "ann")]), progress=killed)
    await full.erasures.erase("ann", Scope.everything())
    assert found(database, "zebrafinch") == set()
    await full.storage.memories.save("ann", [MemoryRecord(text="Keeps a goldcrest now")])
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE discreet.erasure SET lease_until = now() - interval '1 second'")
    assert await full.erasures.resume() == []
    [kept] = await full.storage.memories.latest("ann")
    assert "goldcrest" in kept.text


async def test_who_was_never_there_can_be_erased(house):
    receipt = await house.erasures.erase("nobody", Scope.everything())
    assert receipt.counts == {}


@pytest.mark.slow
async def test_the_trail_is_sound_after_it(full):
    sealer = AuditSealer(full.storage.works_pool, key=USER_KEYS.audit_key)
    await sealer.seal()
    await full.erasures.erase("ann", Scope.everything([("users", "ann")]))
    assert not (await verify(full.storage.works_pool, key=USER_KEYS.audit_key)).findings
    await sealer.seal()
    assert not (await verify(full.storage.works_pool, key=USER_KEYS.audit_key)).findings


def test_every_table_of_a_user_is_known(database):
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT DISTINCT table_name FROM information_schema.columns "
            "WHERE table_schema = 'discreet' AND column_name = 'user_key' AND table_name NOT LIKE 'checkpoint%'"
        ).fetchall()  # a checkpointer's tables are cleared by thread
    named = {rows.table for rows in OWNED} | {"store_item", "store_namespace"}
    stays = {"users", "erasure", "audit_entry", "audit_chain", "audit_sealed_head"}
    assert {name for (name,) in rows} == named | stays, "name it in rights/erasure/tables.py, or say why it stays"


async def test_a_receipt_that_was_changed_is_found_out(house):
    receipt = await house.erasures.erase("ann", Scope.everything())
    said = json.loads(receipt.model_dump_json())
    for name, value in {
        "scope": "recent",
        "done_at": "2020-01-01T00:00:00Z",
        "counts": {"database": {"memory": 9}},
    }.items():
        changed = type(receipt).read(json.dumps({**said, name: value}))
        with pytest.raises(Exception, match="changed"):
            changed.check(USER_KEYS)

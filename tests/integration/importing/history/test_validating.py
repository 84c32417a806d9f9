"""`Validator`: what differs between Redis and the log is found, by kind, and what is under way is not."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import psycopg
import pytest
from testkit.keys import USER_KEYS

from discreet.importing.history import DualWriter
from discreet.importing.history.validating import Validator
from discreet.redaction import Redactor
from discreet.rights.erasure import Erasures, Scope


@pytest.fixture
def validator(history, writer):
    return Validator(history=history, writer=writer, redactor=Redactor(), patience=0.6)


@pytest.fixture
async def copied(v1, copier):
    """Return the rounds of ten users, which both sides have."""
    said = {f"U{u}": [v1.say(f"U{u}", f"{n}: ann@example.org", ago=900 - n) for n in range(4)] for u in range(10)}
    await copier.copy()
    return said


def key_of(user_id):
    return str(USER_KEYS.of_user(user_id))


@pytest.mark.slow
async def test_equal_sides_pass(copied, validator):
    found = await validator.validate()
    assert (found.passed, found.users, found.rounds) == (True, 10, 40)


PLANTED = {
    "missing": "DELETE FROM discreet.conversation_log WHERE request_id = %(rid)s",
    "order": "UPDATE discreet.conversation_log SET started_at = started_at + interval '2 seconds' WHERE request_id = %(rid)s",
    "text": "UPDATE discreet.conversation_log SET output_text = 'zanzibarine' WHERE request_id = %(rid)s",
    "extra": "UPDATE discreet.conversation_log SET request_id = 'another', started_at = started_at WHERE request_id = %(rid)s",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLANTED)
async def test_a_planted_mismatch_is_told_by_pseudonym_and_kind(copied, validator, database, kind):
    with psycopg.connect(database) as connection:
        connection.execute(PLANTED[kind], {"rid": copied["U3"][1]["rid"]})
    found = await validator.validate()
    assert not found.passed
    expected = {"missing": 1, "extra": 1} if kind == "extra" else {kind: 1}
    assert found.mismatches == {key_of("U3"): expected}
    told = json.dumps(found.told())
    assert all(word not in told for word in ("zanzibarine", "example", "U3", copied["U3"][1]["rid"]))


@pytest.mark.slow
async def test_a_flag_of_an_emergency_is_compared(copied, validator, database):
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE discreet.conversation_log SET is_emergency = true WHERE input_text LIKE '2:%%'")
    assert {tuple(each.items()) for each in (await validator.validate()).mismatches.values()} == {(("emergency", 1),)}


@pytest.mark.slow
async def test_rounds_with_one_rid_are_compared_by_what_was_said(v1, phase, copier, validator, database):
    await phase("dual_write")
    said = [v1.say("U1", f"text {n}", ago=100 - n, rid="same") for n in range(3)]
    dual = DualWriter(copier.writer.storage)
    for each in reversed(said):  # as processes that write at once may
        await dual.append_round("U1", each)
    found = await validator.validate()
    assert (found.passed, found.rounds) == (True, 3)
    assert await copier.copy() == {"there": 3}
    with psycopg.connect(database) as connection:
        connection.execute("DELETE FROM discreet.conversation_log WHERE input_text = 'text 1'")
    assert (await validator.validate()).mismatches == {key_of("U1"): {"missing": 1}}


@pytest.mark.slow
async def test_what_was_said_through_the_new_system_is_told_and_no_mismatch(copied, validator, database):
    with psycopg.connect(database) as connection:
        connection.execute(
            "INSERT INTO discreet.conversation_log (user_key, request_id, thread_key, app_name, modality, input_text, output_text,"
            " is_emergency, loop_flag, provenance, started_at, ended_at) SELECT user_key, 'new', thread_key, app_name, modality,"
            " 'new', 'new', false, false, '{}', started_at, ended_at FROM discreet.conversation_log WHERE request_id = %s",
            [copied["U3"][2]["rid"]],
        )
    found = await validator.validate()
    assert (found.passed, found.more) == (True, 1)


@pytest.mark.slow
async def test_keys_that_cant_be_read_are_counted(v1, copied, validator):
    v1.redis.rpush("session::history", "zanzibarine")
    found = await validator.validate()
    assert (found.passed, found.unreadable_keys) == (True, {"key: no user id": 1})


@pytest.mark.slow
@pytest.mark.dialect
async def test_what_redis_has_let_go_of_is_not_extra(v1, copied, validator):
    v1.redis.delete("session:U3:history")
    v1.redis.rpush("session:U3:history", json.dumps(copied["U3"][3]))
    assert (await validator.validate()).passed


@pytest.mark.slow
async def test_what_is_older_than_the_window_is_not_compared(v1, copied, validator, history, writer):
    v1.redis.lpush("session:U3:history", json.dumps(v1.round("U3", "old", ago=25 * 3600)))
    assert (await validator.validate()).passed
    wider = Validator(history=history, writer=writer, redactor=Redactor(), patience=0, window=timedelta(hours=26))
    assert (await wider.validate()).mismatches == {key_of("U3"): {"missing": 1}}


@pytest.mark.slow
async def test_the_sample_is_as_large_as_asked_and_the_same_by_its_seed(v1, copied, validator, database):
    with psycopg.connect(database) as connection:
        connection.execute("DELETE FROM discreet.conversation_log")
    first, same = [await validator.validate(users=4, seed=7) for _ in range(2)]
    assert first.users == len(first.mismatches) == 4
    assert first.mismatches == same.mismatches
    others = [await validator.validate(users=4, seed=seed) for seed in (8, 9)]
    assert any(each.mismatches.keys() != first.mismatches.keys() for each in others)


@pytest.mark.slow
async def test_what_its_user_had_erased_is_not_missing(storage, copied, validator):
    await Erasures(storage).erase("U3", Scope.everything())
    found = await validator.validate()
    assert (found.passed, found.rounds, found.erased) == (True, 40, 4)


@pytest.mark.slow
async def test_rounds_that_are_under_way_are_no_mismatch(v1, phase, copied, history, writer):
    await phase("dual_write")
    dual, stopping = DualWriter(writer.storage), asyncio.Event()

    async def speak(user_id):
        turn = 0
        while not stopping.is_set():
            turn += 1
            said = v1.say(user_id, f"turn {turn}")
            await asyncio.sleep(0.15)  # the time in which Redis alone has it
            await dual.append_round(user_id, said)

    speaking = [asyncio.create_task(speak(user_id)) for user_id in copied]
    validator = Validator(history=history, writer=writer, redactor=Redactor(), patience=20)
    try:
        for _ in range(3):
            assert (await validator.validate()).mismatches == {}
    finally:
        stopping.set()
        await asyncio.gather(*speaking)


async def test_nothing_compared_has_not_passed(v1, validator):
    found = await validator.validate()
    assert (found.users, found.rounds, found.passed) == (0, 0, False)

"""`Repairer`: V1's rounds take the place of those of ours that came from V1 and differ, and of no others."""

from __future__ import annotations

import json

import psycopg
import pytest

from discreet.importing.history.repairing import Repairer
from discreet.importing.history.validating import Validator
from discreet.redaction import Redactor
from discreet.rights.erasure import Erasures, Scope

pytestmark = pytest.mark.slow


@pytest.fixture
def repairer(history, writer):
    return Repairer(history, writer, Redactor())


@pytest.fixture
async def copied(v1, copier):
    """Return the rounds of three users, which both sides have."""
    said = {f"U{u}": [v1.say(f"U{u}", f"{u}{n}: ann@example.org", ago=900 - n) for n in range(4)] for u in range(3)}
    await copier.copy()
    return said


@pytest.fixture
def mismatches(history, writer):
    """Return what validates."""

    async def found():
        validator = Validator(history=history, writer=writer, redactor=Redactor(), patience=0)
        return (await validator.validate()).kinds

    return found


@pytest.fixture
def change(v1):
    """Return what changes a round in V1's list."""

    def changed(number, said, **more):
        v1.redis.lset("session:U1:history", number, json.dumps({**said, **more}))

    return changed


async def test_what_v1_has_otherwise_than_when_it_was_copied_is_v1s_again(change, copied, repairer, mismatches, log):
    rounds = copied["U1"]
    change(0, rounds[0], output="bob@example.org")
    change(1, rounds[1], timestamp=rounds[1]["timestamp"] + 500)
    change(2, rounds[2], is_emergency=True)
    assert await mismatches() == {"text": 1, "order": 1, "emergency": 1}
    assert await repairer.repair() == {"repaired": 3}
    assert await mismatches() == {}
    assert await repairer.repair() == {}
    assert len(log.rows()) == log.session_rounds() == 12
    assert "<EMAIL>" in [row[2] for row in log.rows()]


async def test_what_did_not_come_from_v1_is_kept(copied, repairer, mismatches, database, log):
    with psycopg.connect(database) as connection:
        connection.execute(
            "UPDATE discreet.conversation_log SET provenance = '{}', input_text = 'ours' WHERE request_id = %s",
            [copied["U1"][0]["rid"]],
        )
    assert await repairer.repair() == {"kept": 1}
    assert "ours" in [row[1] for row in log.rows()]
    assert await mismatches() == {"text": 1}


async def test_what_its_user_had_erased_does_not_come_back(storage, copied, repairer, log):
    await Erasures(storage).erase("U1", Scope.everything())
    assert await repairer.repair() == {}
    assert len(log.rows()) == 8

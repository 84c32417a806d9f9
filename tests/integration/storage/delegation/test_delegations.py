"""Who may read what is somebody else's: until when, and until it is taken back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from testkit.keys import USER_KEYS

from discreet.errors import DelegationError, InvalidUserError
from discreet.storage.audit.log import PostgresAuditLog
from discreet.storage.delegation import PostgresDelegations
from discreet.storage.delegation.delegations import MAX_DELEGATES, MAX_ENDED

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


class Clock:
    """Says what it is told."""

    def __init__(self):
        self.now = NOON

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def delegations(storage, clock):
    audit = PostgresAuditLog(storage.pool, keys=USER_KEYS)
    return PostgresDelegations(storage.pool, keys=USER_KEYS, audit=audit, clock=clock)


async def test_only_who_was_let_may_read(delegations):
    await delegations.grant("ann", "carl", by="ann")
    assert await delegations.may_read("carl", "ann")
    assert not await delegations.may_read("ann", "carl")
    assert not await delegations.may_read("bob", "ann")
    assert not await delegations.may_read("carl", "bob")


async def test_it_ends_at_its_time(delegations, clock):
    await delegations.grant("ann", "carl", by="ann", expires_at=NOON + DAY)
    clock.now = NOON + DAY - timedelta(microseconds=1)
    assert await delegations.may_read("carl", "ann")
    clock.now = NOON + DAY
    assert not await delegations.may_read("carl", "ann")
    [ended] = await delegations.list("ann")
    assert not ended.holds(clock.now)


async def test_it_is_taken_back_once_and_may_be_given_again(delegations, clock):
    granted = await delegations.grant("ann", "carl", by="ann")
    assert await delegations.revoke("ann", granted.delegate_key)
    assert not await delegations.revoke("ann", "carl")
    assert not await delegations.may_read("carl", "ann")
    clock.now += DAY
    again = await delegations.grant("ann", "carl", by="an admin", expires_at=clock.now + DAY)
    assert await delegations.may_read("carl", "ann")
    assert await delegations.list("ann") == [again]
    assert (again.delegate_key, again.granted_by, again.revoked_at) == (granted.delegate_key, "an admin", None)


async def test_nobody_else_can_take_it_back(delegations):
    await delegations.grant("ann", "carl", by="ann")
    assert not await delegations.revoke("bob", "carl")
    assert not await delegations.revoke("carl", "ann")
    assert await delegations.may_read("carl", "ann")


async def test_what_can_not_be_given_is_refused(delegations):
    with pytest.raises(DelegationError, match="own delegate"):
        await delegations.grant("ann", "ann", by="ann")
    with pytest.raises(DelegationError, match="end before"):
        await delegations.grant("ann", "carl", by="ann", expires_at=NOON)
    with pytest.raises(InvalidUserError):
        await delegations.grant("ann", "", by="ann")
    assert await delegations.list("ann") == []


async def test_there_is_an_end_to_delegates_and_to_what_is_shown_of_past_ones(delegations, clock):
    for number in range(MAX_DELEGATES):
        await delegations.grant("ann", f"d{number}", by="ann", expires_at=NOON + DAY)
    with pytest.raises(DelegationError, match="at most"):
        await delegations.grant("ann", "one more", by="ann")
    await delegations.grant("ann", "d0", by="ann", expires_at=NOON + DAY)  # is there already
    clock.now = NOON + DAY
    for number in range(3):
        await delegations.grant("ann", f"new {number}", by="ann")
    assert len(await delegations.list("ann")) == MAX_ENDED + 3
    for number in range(3):
        await delegations.revoke("ann", f"new {number}")
    await delegations.grant("ann", "last", by="ann")
    assert len(await delegations.list("ann")) == MAX_ENDED + 1


async def test_it_is_audited_and_names_nobody(delegations, storage):
    await delegations.grant("ann", "carl", by="ann")
    await delegations.revoke("ann", "carl")
    async with storage.pool.connection() as conn:
        asked = {"user_key": USER_KEYS.of_user("ann")}
        rows = await (
            await conn.execute(
                "SELECT action FROM discreet.audit_entry WHERE user_key = %(user_key)s ORDER BY number", asked
            )
        ).fetchall()
        kept = await (
            await conn.execute("SELECT d::text AS row FROM discreet.delegation d WHERE user_key = %(user_key)s", asked)
        ).fetchall()
    assert [row["action"] for row in rows] == ["delegation.grant", "delegation.revoke"]
    assert "carl" not in kept[0]["row"]


async def test_it_goes_with_the_user(delegations, storage):
    await delegations.grant("ann", "carl", by="ann")
    async with storage.works_pool.connection() as conn:
        await conn.execute(
            "DELETE FROM discreet.users WHERE user_key = %(user_key)s", {"user_key": USER_KEYS.of_user("ann")}
        )
    assert await delegations.list("ann") == []

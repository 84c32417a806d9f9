"""Who may read what is somebody else's: until when, and until it is taken back."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest
from testkit.keys import USER_KEYS

from discreet.access.identity import Identities
from discreet.errors import DelegationError, InvalidUserError, StorageError
from discreet.ports import NoAudit
from discreet.shown_keys import shown_key
from discreet.storage.audit.log import PostgresAuditLog
from discreet.storage.audit.verifying import verify
from discreet.storage.database.statements import fetch, run
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
    again = await delegations.grant("ann", "carl", by="olga", expires_at=clock.now + DAY)
    assert await delegations.may_read("carl", "ann")
    assert await delegations.list("ann") == [again]
    assert (again.delegate_key, again.granted_at, again.revoked_at) == (granted.delegate_key, clock.now, None)


async def test_nobody_else_can_take_it_back(delegations):
    await delegations.grant("ann", "carl", by="ann")
    assert not await delegations.revoke("bob", "carl")
    assert not await delegations.revoke("carl", "ann")
    assert await delegations.may_read("carl", "ann")


@pytest.mark.slow
async def test_what_can_not_be_given_is_refused(delegations):
    with pytest.raises(DelegationError, match="own delegate"):
        await delegations.grant("ann", "ann", by="ann")
    with pytest.raises(DelegationError, match="end before"):
        await delegations.grant("ann", "carl", by="ann", expires_at=NOON)
    with pytest.raises(InvalidUserError):
        await delegations.grant("ann", "", by="ann")
    assert await delegations.list("ann") == []


@pytest.mark.parametrize("until", [datetime(2027, 1, 1), datetime.max.replace(tzinfo=timezone(-DAY / 2))])  # noqa: DTZ001  # what is tested
async def test_an_end_that_no_database_can_keep_is_refused(delegations, until):
    with pytest.raises(DelegationError, match="time zone"):
        await delegations.grant("ann", "carl", by="ann", expires_at=until)
    assert await delegations.list("ann") == []


@pytest.mark.slow
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


@pytest.mark.dialect
async def test_it_is_audited_and_names_nobody(delegations, storage):
    opaque = Identities(bytes(32)).of("olga")
    await delegations.grant("ann", "carl", by="ann")
    await delegations.revoke("ann", "carl")
    await delegations.revoke("ann", "carl")
    await delegations.grant("ann", "dora", by="olga@example.com")
    await delegations.grant("ann", "emil", by=opaque)
    asked = {"user_key": USER_KEYS.of_user("ann")}
    rows = await fetch(
        storage.pool,
        "SELECT action, data FROM discreet.audit_entry WHERE user_key = %(user_key)s ORDER BY number",
        asked,
    )
    kept = await fetch(
        storage.pool,
        "SELECT granted_by, d::text AS row FROM discreet.delegation d WHERE user_key = %(user_key)s ORDER BY d.granted_by",
        asked,
    )
    grant, revoke = ({"action": f"delegation.{word}", "data": "delegation"} for word in ("grant", "revoke"))
    assert rows == [grant, revoke, grant, grant]
    by = {str(shown_key(USER_KEYS.of_user("ann"))), str(shown_key(USER_KEYS.of_user("olga@example.com"))), opaque}
    assert {row["granted_by"] for row in kept} == by
    assert {each.granted_by for each in await delegations.list("ann")} == by
    assert not [row for row in kept for name in ("ann", "carl", "dora", "olga", "emil") if name in row["row"]]


@pytest.fixture
async def unwritable(delegations, storage):
    """Let Carl read what is Ann's, and then let her chain take no more entries."""
    await delegations.grant("ann", "carl", by="ann")
    await run(
        storage.pool,
        """
        INSERT INTO discreet.audit_entry (user_key, number, at, actor_kind, action, success, data, counts, hash)
        VALUES (%(user_key)s, 2, now(), 'user', 'memory.write', true, 'memory', '{}', '\\x00')
        """,
        {"user_key": USER_KEYS.of_user("ann")},
    )


@pytest.mark.usefixtures("unwritable")
async def test_nothing_is_given_or_taken_back_without_its_entry(delegations, clock):
    before = await delegations.list("ann")
    clock.now += DAY
    for delegate in ("dora", "carl"):
        with pytest.raises(StorageError):
            await delegations.grant("ann", delegate, by="ann", expires_at=clock.now + DAY)
    with pytest.raises(StorageError):
        await delegations.revoke("ann", "carl")
    assert await delegations.list("ann") == before
    assert not await delegations.may_read("dora", "ann")
    assert await delegations.may_read("carl", "ann")


@pytest.mark.dialect
@pytest.mark.usefixtures("unwritable")
async def test_what_changes_nothing_needs_no_entry(delegations):
    assert not await delegations.revoke("ann", "dora")
    assert not await delegations.revoke("bob", "carl")


async def test_those_who_give_and_take_at_once_leave_an_entry_each(delegations, storage):
    delegates = [f"d{number}" for number in range(8)]
    await asyncio.gather(*(delegations.grant("ann", each, by="ann") for each in delegates * 3))
    revoked = await asyncio.gather(*(delegations.revoke("ann", each) for each in delegates * 3))
    assert revoked.count(True) == len(delegates)
    report = await verify(storage.works_pool, key=USER_KEYS.audit_key, user_key=USER_KEYS.of_user("ann"))
    assert (report.entries, report.findings) == (4 * len(delegates), [])


@pytest.mark.dialect
async def test_it_works_where_nothing_is_audited(storage, clock):
    delegations = PostgresDelegations(storage.pool, keys=USER_KEYS, audit=NoAudit(), clock=clock)
    await delegations.grant("ann", "carl", by="ann")
    assert await delegations.may_read("carl", "ann")
    assert await delegations.revoke("ann", "carl")
    assert not await delegations.may_read("carl", "ann")


async def test_it_goes_with_the_user(delegations, storage):
    await delegations.grant("ann", "carl", by="ann")
    async with storage.works_pool.connection() as conn:
        await conn.execute(
            "DELETE FROM discreet.users WHERE user_key = %(user_key)s", {"user_key": USER_KEYS.of_user("ann")}
        )
    assert await delegations.list("ann") == []

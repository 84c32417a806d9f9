"""A cluster of three servers and their replicas loses one while turns go on."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import UTC, datetime

import pytest
from redis.crc import key_slot
from testkit.redis_clusters import redis_cluster
from testkit.redis_servers import Users, until

from discreet.errors import ShortTermError
from discreet.ports import Round
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.short_term.redis_keys import user_tag
from discreet.storage.short_term.redis_store import RedisShortTermStore
from discreet.storage.vault.redis_vault import RedisTurnVault
from discreet.testing import InMemoryKeys

pytestmark = pytest.mark.slow

PEOPLE = [f"person-{number}" for number in range(24)]
HANGS = 30.0
"""Seconds after which a call would never have come back; each is given up after 2.5, but machines are busy."""


class Unchanged:
    def redact(self, text):
        return text


@pytest.fixture
def cluster(tmp_path):
    with redis_cluster(tmp_path, replicas=1, users=Users.in_folder(tmp_path), timeout_ms=1_000) as cluster:
        yield cluster


@pytest.fixture
async def store(cluster):
    made = RedisShortTermStore(cluster.url(), redactor=Unchanged(), sealer=FieldSealer(None))
    yield made
    await made.close()


class Talk:
    """Everybody says one thing after the other, until told to stop."""

    def __init__(self, store):
        self.store = store
        self.kept = defaultdict(list)
        """Request ids that were acknowledged, by who asked."""
        self.failed = defaultdict(int)
        self.number = 0

    async def go_on(self, until_when):
        while not until_when():
            self.number += 1
            await asyncio.gather(*(self.say(person, f"{self.number}") for person in PEOPLE))
            await asyncio.sleep(0.02)

    async def say(self, person, request_id):
        said = Round(request_id=request_id, input_text="hi", output_text="hello", said_at=datetime.now(UTC))
        try:
            async with asyncio.timeout(HANGS):
                await self.store.touch(person, "1")
                await self.store.append_round(person, "1", said)
            self.kept[person].append(request_id)
        except ShortTermError:
            self.failed[person] += 1


def on(cluster, server):
    """Return the people who are served there."""
    return {person for person in PEOPLE if cluster.primary(user_tag(person)) is server}


async def rounds(store, person):
    return [said.request_id for said in await store.recent_rounds(person, "1", limit=100_000)]


async def test_what_a_replica_has_is_there_when_it_takes_over_and_turns_go_on(cluster, store):
    vault = RedisTurnVault(cluster.url(), keys=InMemoryKeys())
    talk = Talk(store)
    await talk.go_on(lambda: talk.number == 3)
    for person in PEOPLE:
        await vault.ahold(person, {"<EMAIL:7K2QX3MD>": person})
    for server in cluster.servers[:3]:
        await asyncio.to_thread(until, lambda server=server: cluster.caught_up(server), "a replica")
    lost = cluster.primary(user_tag(PEOPLE[0]))
    theirs = on(cluster, lost)
    assert 0 < len(theirs) < len(PEOPLE)
    settled = {person: list(talk.kept[person]) for person in PEOPLE}

    taken_over = asyncio.Event()
    talking = asyncio.create_task(talk.go_on(taken_over.is_set))
    await asyncio.sleep(0.2)
    lost.kill()
    at_risk = {person: set(talk.kept[person]) - set(settled[person]) for person in theirs}
    slot = key_slot(user_tag(PEOPLE[0]).encode())
    await asyncio.to_thread(until, lambda: cluster.primary_of(slot) not in (None, lost), "the failover")
    since = {person: len(talk.kept[person]) for person in theirs}
    await asyncio.to_thread(
        until, lambda: all(len(talk.kept[each]) > since[each] for each in theirs), "the first turn after the failover"
    )
    taken_over.set()
    await talking

    assert set(talk.failed) == theirs  # calls that failed, and none of those whom another server serves
    for person in PEOPLE:
        there = await rounds(store, person)
        assert set(talk.kept[person]) - at_risk.get(person, set()) <= set(there)
        assert len(there) == len(set(there))
        assert await vault.avalues(person) == {"<EMAIL:7K2QX3MD>": person}
    assert await store.forget(PEOPLE[0]) > len(settled[PEOPLE[0]])
    assert await rounds(store, PEOPLE[0]) == []
    await vault.close()


async def test_when_a_server_and_its_replica_are_gone_the_others_go_on(cluster, store):
    talk = Talk(store)
    await talk.go_on(lambda: talk.number == 1)
    lost = cluster.primary(user_tag(PEOPLE[0]))
    theirs = on(cluster, lost)
    for server in (*cluster.replicas_of(lost), lost):
        server.kill()
    assert await without_short_term(store) == theirs
    await asyncio.to_thread(until, lambda: cluster.knows_failed(lost), "that the others know")
    assert await without_short_term(store) == theirs


async def without_short_term(store):
    found = set()
    for person in PEOPLE:
        try:
            async with asyncio.timeout(HANGS):
                await store.touch(person, "1")
        except ShortTermError:
            found.add(person)
    return found


async def test_a_cluster_that_is_gone_is_an_error_soon(cluster, store):
    await store.touch("ann", "1")
    for server in cluster.servers:
        server.kill()
    for _ in range(2):
        with pytest.raises(ShortTermError):
            async with asyncio.timeout(HANGS):
                await store.touch("ann", "1")

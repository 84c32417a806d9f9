"""Claims of work: done once, whoever crashes, comes late or comes at once."""

from __future__ import annotations

import asyncio
import json

import pytest
from kit.search import Words, search
from testkit.redis_clusters import ON_CLUSTER
from testkit.scripts import ScriptProcess

from discreet.ports import Done, Running, Started, Work

AUDIO = Work(kind="audio", user_id="ann", ref="a" * 32)
SERVERS = ["postgres", "redis", ON_CLUSTER]
LEASE, KEEP = 180.0, 86_400.0
SLACK = 20.0
"""Seconds that a busy machine may take between two calls, since servers have clocks that go on."""


@pytest.mark.fast_cases(2)
async def test_of_twenty_at_once_exactly_one_starts(store):
    claims = await asyncio.gather(*(store.claim(AUDIO, lease=LEASE) for _ in range(20)))
    assert sorted(type(claim).__name__ for claim in claims) == ["Running"] * 19 + ["Started"]


@pytest.mark.fast_cases(2)
async def test_an_answer_is_handed_out_until_its_time_ends(kept):
    store = kept.store
    claim = await store.claim(AUDIO, lease=LEASE)
    assert await store.claim(AUDIO, lease=LEASE) == Running()
    assert await store.finish(AUDIO, claim.token, "早安", keep=KEEP)
    kept.advance(KEEP - SLACK)
    assert await store.claim(AUDIO, lease=LEASE) == Done("早安")
    kept.advance(SLACK + 1)
    assert isinstance(await store.claim(AUDIO, lease=LEASE), Started)


@pytest.mark.fast_cases(2)
async def test_an_answer_is_kept_for_the_rest_of_the_lease_by_default(kept):
    """So the window of a request begins with its first arrival, and no bucket ends it early."""
    claim = await kept.store.claim(AUDIO, lease=LEASE)
    kept.advance(LEASE / 2)
    assert await kept.store.finish(AUDIO, claim.token, "")
    assert await kept.store.claim(AUDIO, lease=LEASE) == Done("")
    kept.advance(LEASE / 2 - SLACK)
    assert await kept.store.claim(AUDIO, lease=LEASE) == Done("")
    kept.advance(SLACK + 1)
    assert isinstance(await kept.store.claim(AUDIO, lease=LEASE), Started)


async def test_work_of_a_crashed_holder_is_free_after_its_lease(kept):
    await kept.store.claim(AUDIO, lease=LEASE)
    kept.advance(LEASE - SLACK)
    assert await kept.store.claim(AUDIO, lease=LEASE) == Running()
    kept.advance(SLACK + 1)
    assert isinstance(await kept.store.claim(AUDIO, lease=LEASE), Started)


async def test_a_late_holder_cannot_overwrite_its_successor(kept):
    store = kept.store
    late = await store.claim(AUDIO, lease=LEASE)
    kept.advance(LEASE + 1)
    successor = await store.claim(AUDIO, lease=LEASE)
    assert not await store.finish(AUDIO, late.token, "late", keep=KEEP)
    assert not await store.release(AUDIO, late.token)
    assert await store.claim(AUDIO, lease=LEASE) == Running()
    assert await store.finish(AUDIO, successor.token, "right", keep=KEEP)
    assert not await store.finish(AUDIO, late.token, "late", keep=KEEP)
    assert not await store.release(AUDIO, late.token)
    assert await store.claim(AUDIO, lease=LEASE) == Done("right")


@pytest.mark.fast_cases(2)
async def test_a_late_holder_may_finish_if_nobody_took_over(kept):
    claim = await kept.store.claim(AUDIO, lease=LEASE)
    kept.advance(LEASE + 1)
    assert await kept.store.finish(AUDIO, claim.token, "late", keep=KEEP)
    assert await kept.store.claim(AUDIO, lease=LEASE) == Done("late")


async def test_a_late_holder_that_names_no_time_leaves_nothing_to_hand_out(kept):
    claim = await kept.store.claim(AUDIO, lease=LEASE)
    kept.advance(LEASE + 1)
    assert await kept.store.finish(AUDIO, claim.token, "late")
    assert isinstance(await kept.store.claim(AUDIO, lease=LEASE), Started)


@pytest.mark.fast_cases(2)
async def test_work_is_free_as_soon_as_it_is_given_back(store):
    claim = await store.claim(AUDIO, lease=LEASE)
    assert await store.release(AUDIO, claim.token)
    assert not await store.release(AUDIO, claim.token)
    assert not await store.finish(AUDIO, claim.token, "answer", keep=KEEP)
    assert isinstance(await store.claim(AUDIO, lease=LEASE), Started)


@pytest.mark.fast_cases(2)
async def test_a_token_is_good_for_one_answer(store):
    claim = await store.claim(AUDIO, lease=LEASE)
    assert await store.finish(AUDIO, claim.token, "first", keep=KEEP)
    assert not await store.finish(AUDIO, claim.token, "second", keep=KEEP)
    assert not await store.release(AUDIO, claim.token)
    assert await store.claim(AUDIO, lease=LEASE) == Done("first")


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("token", ["", "0" * 32, "no token", "ƒ"])
async def test_a_wrong_token_does_nothing(store, token):
    await store.claim(AUDIO, lease=LEASE)
    assert not await store.finish(AUDIO, token, "answer")
    assert not await store.release(AUDIO, token)
    assert await store.claim(AUDIO, lease=LEASE) == Running()


@pytest.mark.fast_cases(2)
async def test_tokens_have_128_random_bits(store):
    works = [Work(kind="request", user_id="ann", ref=str(n)) for n in range(8)]
    tokens = {(await store.claim(work, lease=LEASE)).token for work in works}
    assert len(tokens) == 8
    assert {len(bytes.fromhex(token)) for token in tokens} == {16}


async def test_works_of_another_kind_user_or_ref_are_others(store):
    works = [
        AUDIO,
        Work(kind="request", user_id="ann", ref=AUDIO.ref),
        Work(kind="call", user_id="ann", ref=AUDIO.ref),
        Work(kind="audio", user_id="bob", ref=AUDIO.ref),
        Work(kind="audio", user_id="ann", ref="b"),
    ]
    assert all([isinstance(await store.claim(work, lease=LEASE), Started) for work in works])


@pytest.mark.fast_cases(2)
async def test_a_holder_whose_user_was_forgotten_leaves_nothing(store):
    claim = await store.claim(AUDIO, lease=LEASE)
    assert await store.forget("ann") == 1
    assert not await store.finish(AUDIO, claim.token, "answer", keep=KEEP)
    assert await store.forget("ann") == 0


@pytest.mark.fast_cases(2)
async def test_a_kept_answer_is_redacted_and_keeps_its_tags(kept):
    mail = "ann" + "@" + "example.com"
    claim = await kept.store.claim(AUDIO, lease=LEASE)
    await kept.store.finish(AUDIO, claim.token, f"To <EMAIL:7K2QX3MD> from {mail}", keep=KEEP)
    done = await kept.store.claim(AUDIO, lease=LEASE)
    assert done.answer.startswith("To <EMAIL:7K2QX3MD> from <EMAIL")
    assert search(kept.stored(), Words(mail=mail)).leaks == {}


@pytest.mark.parametrize("place", SERVERS, indirect=True)
async def test_a_lease_ends_by_the_clock_of_the_server(store):
    await store.claim(AUDIO, lease=0.2)
    async with asyncio.timeout(10):
        claim = await store.claim(AUDIO, lease=LEASE)
        while claim == Running():
            await asyncio.sleep(0.02)
            claim = await store.claim(AUDIO, lease=LEASE)
    assert isinstance(claim, Started)


CLAIMING = """
import asyncio, json, sys
from discreet.ports import Work
from discreet.settings import Settings
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

async def main(dsn, url):
    settings = Settings(redis_url=url or None)
    async with open_storage(dsn, settings=settings, embeddings=StubEmbeddings(dims=16)) as storage:
        print("ready", flush=True)
        sys.stdin.readline()
        works = [Work(kind="audio", user_id="ann", ref=str(n)) for n in range(50)]
        claims = [await storage.short_term.claim(work, lease=180.0) for work in works]
        print(json.dumps([type(claim).__name__ for claim in claims]), flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("place", SERVERS, indirect=True)
def test_of_two_processes_one_starts(place):
    with ScriptProcess(CLAIMING, place.dsn, place.url) as one, ScriptProcess(CLAIMING, place.dsn, place.url) as other:
        for process in (one, other):
            assert process.stdout.readline() == "ready\n", process.stderr.read()
        for process in (one, other):
            process.stdin.write("go\n")
            process.stdin.flush()
        results = [json.loads(process.stdout.read()) for process in (one, other)]
    assert all({first, second} == {"Started", "Running"} for first, second in zip(*results, strict=True))

"""Attempts to sign in are counted for all processes, in the database."""

import asyncio

import pytest
from kit.places import snapshot
from kit.search import in_rows

from discreet.api.pages.attempts import MOST, WINDOW_SECONDS, Limit, SharedAttempts
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings


@pytest.mark.slow
async def test_two_processes_have_the_attempts_of_one(empty_database):
    limit = Limit("address 198.51.100.4", MOST)
    async with (
        open_storage(empty_database, embeddings=StubEmbeddings(dims=64)) as one,
        open_storage(empty_database, embeddings=StubEmbeddings(dims=64)) as other,
    ):
        processes = [SharedAttempts(each.short_term) for each in (one, other)]
        attempts = await asyncio.gather(*(processes[number % 2].begin(limit) for number in range(MOST * 2)))
        assert sorted(each.wait_seconds for each in attempts) == [0] * MOST + [WINDOW_SECONDS] * MOST
        assert (await processes[0].begin(Limit("address 198.51.100.5", MOST))).wait_seconds == 0
        await processes[0].succeeded(next(each for each in attempts if each.work is not None))
        assert (await processes[0].begin(limit)).wait_seconds == 0
        assert (await processes[0].begin(limit)).wait_seconds > 0


@pytest.mark.dialect
@pytest.mark.direct("names the schema")
async def test_attempts_leave_no_address_in_the_database(empty_database):
    async with open_storage(empty_database, embeddings=StubEmbeddings(dims=64)) as storage:
        await SharedAttempts(storage.short_term).begin(Limit("address 198.51.100.4", MOST))
    assert len(snapshot(empty_database)["discreet.short_term_work"]) == 1
    assert in_rows(empty_database, address="198.51.100.4") == {}

"""A worker with the real clients of three companies, against a server that speaks their protocols."""

from __future__ import annotations

import json
import secrets

import pytest
from testkit.conversations import item, talk

from discreet.ports import FixedSettings
from discreet.prompts.data import read_block
from discreet.prompts.extraction import TURNS_TAG
from discreet.providers.batches.anthropic import AnthropicBatchProvider
from discreet.providers.batches.google import GoogleBatchProvider
from discreet.providers.batches.openai import OpenAIBatchProvider
from discreet.redaction import Redactor
from discreet.state.memory_settings import MemorySettings
from discreet.state.records import MemoryFilters
from discreet.testing import batch_server
from discreet.worker import BatchProviders, Worker

pytestmark = pytest.mark.slow

CLIENTS = {"openai": OpenAIBatchProvider, "anthropic": AnthropicBatchProvider, "google": GoogleBatchProvider}
FACTS = MemoryFilters(types=["user_fact"])
PEOPLE = 8


def answer(data):
    if f"<{TURNS_TAG}>" not in data:
        return json.dumps({"summary": "They talked.", "topics": [], "key_facts": []})
    turns = read_block(data, TURNS_TAG)
    return json.dumps({"items": [item(turn["said"], turn["id"]) for turn in turns], "moments": []})


@pytest.fixture
def server():
    with batch_server(answer) as running:
        yield running


@pytest.fixture(params=CLIENTS)
async def worker(request, storage, server, settings):
    name = request.param
    made = CLIENTS[name](api_keys=[secrets.token_hex(8)], base_url=server.base_urls[name], retry_seconds=2.0)
    providers = BatchProviders(settings, make=lambda _name, _model: made)
    live = MemorySettings(memory_extraction_provider=name)
    yield Worker(storage.background, memory_settings=FixedSettings(live), providers=providers, redactor=Redactor())
    await providers.aclose()


@pytest.fixture
async def said(storage):
    texts = {f"u{number}": f"I have a cousin called Minh{number} in Hue." for number in range(PEOPLE)}
    for user, text in texts.items():
        await talk(storage, text, user=user, thread=user)
    return texts


async def until_done(worker, storage, later, *, passes=12):
    """Let time pass until all prompts have their results."""
    for _ in range(passes):
        await worker.once()
        states = (await storage.background.watch.status()).requests
        if set(states) <= {"applied", "failed", "cancelled"}:
            return
        later()
    pytest.fail(f"still {states}")


async def check(worker, storage, server, said, later, *, lying=False):
    """Each fact is there once, every batch is known, and nothing lies at the provider any more unless it may."""
    await until_done(worker, storage, later)
    for user, text in said.items():
        assert [record.text for record in await storage.memories.latest(user, filters=FACTS)] == [text]
    known = {job.batch_id for job in await storage.background.jobs.latest()}
    assert {batch.id for batch in server.shelf.batches} <= {
        batch_id.rpartition("/")[2] for batch_id in known if batch_id
    } | known
    assert lying or not server.shelf.lying()


async def test_everything_is_applied_once(worker, storage, server, said, later):
    await check(worker, storage, server, said, later)
    assert len(server.shelf.batches) == 1


@pytest.mark.parametrize(
    "script",
    [
        {"polls": 2},
        {"overloaded": 3},
        {"broken": 2},
        {"shuffled": True, "duplicated": True},
        {"malformed": 3},
        {"dropped": 1},
        {"lost": 1},
    ],
    ids="-".join,
)
async def test_whatever_goes_wrong_everything_is_applied_once(worker, storage, server, said, later, *, script):
    for name, value in script.items():
        setattr(server.script, name, value)
    await check(worker, storage, server, said, later)


@pytest.mark.parametrize("end", ["expired", "cancelled"])
async def test_what_was_answered_before_the_end_was_paid_and_is_kept(worker, storage, server, said, later, *, end):
    server.script.ends, server.script.answered = end, 3
    await worker.once()
    later()
    await worker.once()
    applied = (await storage.background.watch.status()).requests["applied"]
    assert applied == 3
    server.script.ends = "completed"
    await check(worker, storage, server, said, later)
    assert sorted(len(batch.prompts) for batch in server.shelf.batches) == [PEOPLE - 3, PEOPLE]


async def test_results_that_break_off_are_completed_by_another_batch(worker, storage, server, said, later):
    server.script.truncated = 200
    await worker.once()
    later()
    await worker.once()
    server.script.truncated = 0
    await check(worker, storage, server, said, later)


async def test_a_batch_that_vanished_is_handed_in_anew(worker, storage, server, said, later):
    server.script.polls = 50
    await worker.once()
    server.shelf.batches.clear()
    server.script.polls = 0
    await check(worker, storage, server, said, later, lying=True)  # OpenAI's input, whose name went with the batch
    assert {job.state for job in await storage.background.jobs.latest()} == {"vanished", "completed"}


async def test_nobody_is_named_to_the_provider(worker, storage, server, said, later):
    await check(worker, storage, server, said, later)
    [batch] = server.shelf.batches
    sent = json.dumps([str(each) for each in batch.sent])
    for user in said:
        assert f'"{user}"' not in sent
        assert storage.background.key_of(user).hex not in sent

"""What is Anthropic's own: batches without a name, deletion after the end."""

from datetime import UTC, datetime, timedelta

import pytest

from discreet.errors import ProviderError
from discreet.providers.batches import anthropic as module

IDS = ["p-0", "p-1"]


@pytest.fixture
def provider(open_provider):
    return open_provider("anthropic", options={"temperature": 0, "output_config": {"effort": "low"}})


@pytest.mark.slow
async def test_prompts_go_with_a_schema(provider, server, ask):
    await provider.submit("job-1", "claude-haiku-4-5", ask(max_tokens=77))
    params = server.shelf.batches[0].sent[0]["params"]
    assert (params["model"], params["max_tokens"], params["temperature"]) == ("claude-haiku-4-5", 77, 0)
    assert (params["system"], params["messages"]) == ("Echo.", [{"role": "user", "content": "Data 0"}])
    schema = {"type": "json_schema", "schema": ask()[0].schema}
    assert params["output_config"] == {"effort": "low", "format": schema}


@pytest.mark.slow
async def test_a_batch_that_may_be_ours_is_waited_for(provider, server, ask):
    server.script.polls = 3
    since = datetime.now(UTC)
    batch_id = await provider.submit("job-1", "m", ask())
    with pytest.raises(ProviderError) as raised:
        await provider.find("job-1", IDS, since)
    assert raised.value.is_passing
    server.script.polls = 0
    assert await provider.find("job-1", IDS, since) == batch_id


@pytest.mark.slow
async def test_others_batches_are_told_by_number_time_and_results(provider, server, ask):
    server.script.polls = 99
    since = datetime.now(UTC)
    await provider.submit("job-1", "m", ask(3))
    await provider.submit("job-2", "m", ask())
    server.shelf.batches[1].created -= timedelta(hours=1)
    assert await provider.find("job-1", IDS, since) is None
    server.script.polls, server.script.malformed = 0, 3
    await provider.submit("job-3", "m", ask())
    assert await provider.find("job-1", ["x-0", "x-1"], since) is None


async def test_one_that_ended_is_found_beside_one_that_runs(provider, server, ask):
    since = datetime.now(UTC)
    batch_id = await provider.submit("job-1", "m", ask())
    await provider.status(batch_id)
    server.script.polls = 99
    await provider.submit("job-2", "m", ask())
    assert await provider.find("job-1", IDS, since) == batch_id


async def test_a_batch_that_was_archived_has_vanished(provider, server, ask, monkeypatch):
    batch_id = await provider.submit("job-1", "m", ask())
    made = module._is_archived
    monkeypatch.setattr(module, "_is_archived", lambda batch: made(batch.model_copy(update={"results_url": None})))
    status = await provider.status(batch_id)
    assert (status.state, status.told) == ("vanished", "archived")
    assert await provider.find("job-1", IDS, datetime.now(UTC)) is None


async def test_a_batch_that_runs_is_cancelled_before_it_can_be_deleted(provider, server, ask):
    server.script.polls = 99
    batch_id = await provider.submit("job-1", "m", ask())
    with pytest.raises(ProviderError) as raised:
        await provider.delete(batch_id)
    assert raised.value.is_passing
    await provider.status(batch_id)
    await provider.delete(batch_id)
    assert server.shelf.lying() == []


def message(*content, ended="end_turn"):
    told = {"model": "c-1", "content": content, "stop_reason": ended, "usage": {"input_tokens": 1, "output_tokens": 2}}
    return {"type": "succeeded", "message": told}


def errored(kind):
    return {"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": "Ann's text"}}}


TEXT = {"type": "text", "text": "{}"}


@pytest.mark.parametrize(
    ("told", "state", "error", "is_final"),
    [
        (message({"type": "thinking", "thinking": "…"}, TEXT), "succeeded", None, False),
        (message(TEXT, ended="refusal"), "failed", "refusal", True),
        (message(TEXT, ended="max_tokens"), "failed", "length", False),
        (message(), "failed", "empty", False),
        (errored("invalid_request_error"), "failed", "invalid_request_error", True),
        (errored("request_too_large"), "failed", "request_too_large", True),
        (errored("overloaded_error"), "failed", "overloaded_error", False),
        ({"type": "expired"}, "expired", "expired", False),
        ({"type": "canceled"}, "cancelled", "canceled", False),
    ],
)
def test_each_kind_of_line_is_read(told, state, error, is_final):
    result = module._result({"custom_id": "p-0", "result": told})
    assert (result.state, result.error, result.is_final) == (state, error, is_final)
    assert result.text == ("{}" if state == "succeeded" else None)


def test_the_limits_leave_room_in_memory():
    assert module.LIMITS.requests == 100_000
    assert module.LIMITS.bytes * 3 < 256_000_000

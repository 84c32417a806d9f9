"""Keys, waits and errors, the same at all companies."""

import asyncio
import itertools
import time
from datetime import UTC, datetime

import pytest

from discreet.errors import ConfigurationError, MissingDependencyError, ProviderError
from discreet.providers.batches import calls

VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "google": "GOOGLE_API_KEY"}


def statuses(server):
    return [status for _, _, status in server.requests]


@pytest.mark.slow
async def test_retry_after_is_waited_for(provider, server, ask):
    batch_id = await provider.submit("job-1", "m", ask())
    server.script.overloaded, server.script.retry_after = 1, 0.4
    start = time.monotonic()
    await provider.status(batch_id)
    assert time.monotonic() - start >= 0.4


async def test_a_longer_wait_than_there_is_time_for_is_an_error_at_once(provider, server, ask):
    server.script.overloaded, server.script.retry_after = 1, 30.0
    with pytest.raises(ProviderError) as raised:
        await provider.submit("job-1", "m", ask())
    assert raised.value.is_passing
    assert statuses(server) == [429]


async def test_who_wants_to_be_asked_at_once_is_not_asked_for_ever(provider, server, ask):
    batch_id = await provider.submit("job-1", "m", ask())
    server.script.overloaded, server.script.retry_after = 999, 0
    with pytest.raises(ProviderError):
        await provider.status(batch_id)
    assert statuses(server).count(429) == calls.ATTEMPTS


async def test_a_batch_is_not_handed_in_twice_after_a_failure_that_leaves_open_whether_it_was_taken(
    provider, server, ask
):
    server.script.lost = 1
    with pytest.raises(ProviderError) as raised:
        await provider.submit("job-1", "m", ask())
    assert raised.value.is_passing
    assert not isinstance(raised.value, calls.RefusedError)
    assert len(server.shelf.batches) == 1


async def test_a_server_that_is_not_there_is_an_error_that_passes(company, open_provider, ask):
    provider = open_provider(company, base_url="http://127.0.0.1:9", retry_seconds=0.0)
    for call in (provider.submit("job-1", "m", ask()), provider.status("batches/1")):
        with pytest.raises(ProviderError) as raised:
            await call
        assert raised.value.is_passing


async def test_a_key_that_is_refused_is_an_error_of_settings_that_does_not_tell_the_key(provider, company, server, ask):
    server.script.refused = frozenset({"key-1"})
    for call in (
        provider.submit("job-1", "m", ask()),
        provider.status("batches/1"),
        provider.find("job-1", ["p-0"], datetime.now(UTC)),
        provider.cancel("batches/1"),
        provider.delete("batches/1"),
    ):
        with pytest.raises(ConfigurationError, match=VARIABLES[company]) as raised:
            await call
        assert "key-1" not in str(raised.value)
        assert raised.value.__cause__ is None


async def test_a_request_that_is_refused_is_an_error_that_stays(open_provider, server, ask):
    provider = open_provider("openai", base_url=server.base_urls["openai"] + "/nowhere")
    with pytest.raises(ProviderError, match="status 404") as raised:
        await provider.submit("job-1", "m", ask())
    assert not raised.value.is_passing


@pytest.mark.slow
async def test_keys_take_turns_and_each_batch_is_found_with_the_key_that_made_it(company, open_provider, server, ask):
    server.script.projects = {"key-1": "one", "key-2": "two"}
    provider = open_provider(company, api_keys=["key-1", "key-2"])
    since = datetime.now(UTC)
    ids = [await provider.submit(f"job-{number}", "m", ask(number + 1)) for number in range(4)]
    assert [each.project for each in server.shelf.batches] == ["one", "two", "one", "two"]
    another = open_provider(company, api_keys=["key-2", "key-1"])
    for each, batch_id in itertools.product((provider, another), ids):
        assert (await each.status(batch_id)).state == "ended"
        assert [result.state async for result in each.results(batch_id)]
    assert await another.find("job-2", ["p-0", "p-1", "p-2"], since) == ids[2]
    only = open_provider(company, api_keys=["key-2"])
    assert (await only.status(ids[0])).state == "vanished"


async def test_the_key_of_a_batch_is_remembered(company, open_provider, server, ask):
    server.script.projects = {"key-1": "one", "key-2": "two"}
    provider = open_provider(company, api_keys=["key-1", "key-2"])
    await provider.submit("job-1", "m", ask())
    batch_id = await provider.submit("job-2", "m", ask())
    await provider.status(batch_id)
    assert 404 not in statuses(server)


async def test_a_key_that_is_refused_or_used_up_is_passed_over(company, open_provider, server, ask):
    server.script.refused = frozenset({"key-1"})
    provider = open_provider(company, api_keys=["key-1", "key-2"])
    batch_id = await provider.submit("job-1", "m", ask())
    assert (await provider.status(batch_id)).state == "ended"
    server.script.overloaded, server.script.retry_after = 1, 30.0
    await provider.submit("job-2", "m", ask())


async def test_a_batch_may_be_of_a_key_that_is_refused(company, open_provider, server):
    server.script.refused = frozenset({"key-1"})
    provider = open_provider(company, api_keys=["key-1", "key-2"])
    with pytest.raises(ConfigurationError):
        await provider.status("batches/1")


def test_without_a_key_or_a_server_the_variable_is_named(company, open_provider):
    with pytest.raises(ConfigurationError, match=VARIABLES[company]):
        open_provider(company, api_keys=[], base_url=None)


async def test_a_server_of_ones_own_needs_no_key(company, open_provider, ask):
    assert await open_provider(company, api_keys=[]).submit("job-1", "m", ask())


def test_a_client_that_is_missing_is_named_with_what_installs_it(company, open_provider, monkeypatch):
    packages = {"openai": "openai", "anthropic": "anthropic", "google": "google-genai"}
    for nothing in (lambda _name: None, _missing):
        monkeypatch.setattr(calls, "find_spec", nothing)
        with pytest.raises(MissingDependencyError, match=f"pip install {packages[company]}$"):
            open_provider(company)


def _missing(name):
    raise ModuleNotFoundError(name)


async def test_errors_and_logs_tell_no_text(provider, server, ask, caplog):
    server.script.overloaded, server.script.malformed = 1, 5
    batch_id = await provider.submit("job-1", "m", ask())
    server.script.broken = 1
    await provider.status(batch_id)
    assert [each async for each in provider.results(batch_id)]
    assert "batch_retry cause=" in caplog.text
    assert "Data" not in caplog.text
    assert "DATA" not in caplog.text
    assert "As scripted" not in caplog.text


async def test_results_need_not_be_read_to_their_end(provider, server, ask):
    batch_id = await provider.submit("job-1", "m", ask(5))
    await provider.status(batch_id)
    results = provider.results(batch_id)
    assert (await anext(results)).state == "succeeded"
    await results.aclose()
    await asyncio.sleep(0)


async def test_a_provider_that_was_closed_opens_anew(provider, ask):
    batch_id = await provider.submit("job-1", "m", ask())
    await provider.aclose()
    assert (await provider.status(batch_id)).state == "ended"

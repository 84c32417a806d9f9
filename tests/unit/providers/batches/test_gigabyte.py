"""A gigabyte of results, read in bounded memory. The server makes them while they are sent, in this process too."""

import gc
import time

import psutil
import pytest

from discreet.providers.batches import google
from discreet.testing.batch_shelf import FILLER

GIGABYTE = 1_000_000_000
MOST = 100_000_000

pytestmark = pytest.mark.slow


async def test_a_gigabyte_of_results_takes_no_memory(provider, server, ask, monkeypatch, record_property):
    monkeypatch.setattr(google, "INLINE_BYTES", 0)
    server.script.bytes = 1_000_000
    batch_id = await provider.submit("job-1", "m", ask())
    await provider.status(batch_id)
    assert [each async for each in provider.results(batch_id)]  # what is made once is made now
    server.script.bytes = GIGABYTE
    gc.collect()
    process = psutil.Process()
    before = most = process.memory_info().rss
    start, size, count = time.monotonic(), 0, 0
    async for result in provider.results(batch_id):
        size += len(result.text or "")
        count += result.custom_id.startswith(FILLER)
        if count % 100 == 0:
            most = max(most, process.memory_info().rss)
    assert size > 0.95 * GIGABYTE
    assert count > 10_000
    grown = most - before
    seconds = time.monotonic() - start
    record_property(
        "figure", f"{provider.name}: {size / 1e6:,.0f} MB in {seconds:.0f} s, {grown / 1e6:.1f} MB more memory"
    )
    assert grown < MOST

"""Each store that others share tells how much it takes, as the user that it is meant to be."""

import pytest


@pytest.mark.parametrize("place", ["postgres", "redis", "redis_cluster"], indirect=True)
async def test_a_store_tells_what_it_takes(kept, place):
    size = await kept.store.size()
    assert size.store == place.name.partition("_")[0]
    assert size.used > {"postgres": 1, "redis": 100_000, "redis_cluster": 1_000_000}[place.name]
    assert size.limit is None or size.limit > size.used

"""With a key, texts of the short-term store are sealed, each for its place."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from kit.search import Words, search
from testkit.redis_clusters import ON_CLUSTER

from discreet.errors import ShortTermError
from discreet.ports import Done, Round, Work

pytestmark = pytest.mark.parametrize("place", ["postgres", "redis", ON_CLUSTER], indirect=True)

AUDIO = Work(kind="audio", user_id="ann", ref="a" * 32)


async def fill(store, token):
    said = Round(request_id="r", input_text=f"{token} 1", output_text=f"{token} 2", said_at=datetime.now(UTC))
    await store.append_round("ann", "1", said)
    claim = await store.claim(AUDIO, lease=60.0)
    await store.finish(AUDIO, claim.token, f"{token} 3", keep=60.0)


async def test_no_text_lies_there_readable(sealed, token):
    await fill(sealed.store, token)
    assert search(sealed.stored(), Words(word=token)).leaks == {}
    [said] = await sealed.store.recent_rounds("ann", "1")
    assert (said.input_text, said.output_text) == (f"{token} 1", f"{token} 2")
    assert await sealed.store.claim(AUDIO, lease=60.0) == Done(f"{token} 3")


async def test_texts_stay_readable_while_their_key_is_known(sealed, token):
    await fill(sealed.store, token)
    old = sealed.keys.current()
    sealed.keys.rotate()
    assert await sealed.store.claim(AUDIO, lease=60.0) == Done(f"{token} 3")
    sealed.keys.forget(old.id)
    with pytest.raises(ShortTermError):
        await sealed.store.claim(AUDIO, lease=60.0)


async def test_rounds_under_a_lost_key_are_left_out_and_named(sealed, token, caplog):
    for n in range(3):
        said = Round(request_id=f"r{n}", input_text=token, output_text=str(n), said_at=datetime.now(UTC))
        await sealed.store.append_round("ann", "1", said)
        if n == 1:
            old = sealed.keys.current()
            sealed.keys.rotate()
    sealed.keys.forget(old.id)
    assert [said.output_text for said in await sealed.store.recent_rounds("ann", "1")] == ["2"]
    [event] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "storage.unreadable kind=round rows=2" in event


async def test_what_somebody_without_the_key_put_there_is_left_out_and_named(kept, sealed, token, caplog):
    await fill(kept.store, token)
    assert await sealed.store.recent_rounds("ann", "1") == []
    with pytest.raises(ShortTermError):
        await sealed.store.claim(AUDIO, lease=60.0)
    events = [each.getMessage() for each in caplog.records if "storage.unreadable" in each.getMessage()]
    assert [event.split(" ids=")[0] for event in events] == [
        "storage.unreadable kind=round rows=1",
        "storage.unreadable kind=answer rows=1",
    ]
    assert token not in caplog.text

"""With a key, texts of the short-term store are sealed, each for its place."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from discreet.errors import ShortTermError
from discreet.ports import Done, Round, Work

pytestmark = pytest.mark.parametrize("place", ["postgres", "redis"], indirect=True)

AUDIO = Work(kind="audio", user_id="ann", ref="a" * 32)


async def fill(store, token):
    said = Round(request_id="r", input_text=f"{token} 1", output_text=f"{token} 2", said_at=datetime.now(UTC))
    await store.append_round("ann", "1", said)
    claim = await store.claim(AUDIO, lease=60.0)
    await store.finish(AUDIO, claim.token, f"{token} 3", keep=60.0)


async def test_no_text_lies_there_readable(sealed, token):
    await fill(sealed.store, token)
    assert token.encode() not in sealed.stored()
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
    with pytest.raises(ShortTermError):
        await sealed.store.recent_rounds("ann", "1")

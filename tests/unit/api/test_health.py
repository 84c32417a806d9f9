"""What the checks of the parts do when a part hangs."""

import asyncio
from dataclasses import replace

import pytest

from discreet.api import health
from discreet.api.health import HealthChecks
from discreet.testing import InMemoryShortTermStore


class Hanging(InMemoryShortTermStore):
    """A store whose question does not even end when it is cancelled, as a driver's that asks a server which hangs."""

    def __init__(self):
        super().__init__()
        self.go, self.ended = asyncio.Event(), asyncio.Event()

    async def session_state(self, user_id, thread_id):
        try:
            await asyncio.Event().wait()
        finally:
            await self.go.wait()
            self.ended.set()


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch):
    monkeypatch.setattr(health, "PATIENCE_SECONDS", 0.1)


async def test_a_part_that_hangs_is_down_and_nobody_waits_until_its_question_has_ended(services):
    store = Hanging()
    told = await HealthChecks(replace(services, short_term=store)).read()
    assert (told.short_term, told.vault) == ("down", "ok")
    assert not store.ended.is_set()
    store.go.set()
    await store.ended.wait()

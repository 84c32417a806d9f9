"""The pages behind the layer that redacts addresses: they read what was sent, and logs have none of it."""

import re

import pytest
from testkit.pages import Web

from discreet.api.ingress import Ingress
from discreet.redaction import Redactor
from discreet.redaction.vault import InMemoryTurnVault
from discreet.state.records import MemoryRecord


class Logged:
    """Keeps what the server that calls the application would log of each request."""

    def __init__(self, app):
        self._app, self.queries = app, []

    async def __call__(self, scope, receive, send):
        await self._app(scope, receive, send)
        self.queries.append(scope["query_string"].decode())


@pytest.fixture
def server(world):
    ingress = Ingress(
        world.app,
        authenticator=world.gate,
        redactor=Redactor(),
        vault=InMemoryTurnVault(),
        restore=False,
        max_body_bytes=10_000,
        studio=False,
    )
    return Logged(ingress)


@pytest.mark.slow
async def test_what_an_address_has_sealed_is_read_and_not_logged(world, server):
    user = world.gate.identity("ann")
    for text in ("Keeps two parrots", "Works at a bakery"):
        await world.memories.save(user, [MemoryRecord(text=text)])
    browser = Web(server, world=world)
    async with browser.http:
        await browser.sign_in(world.gate.boss)
        await browser.get("/memory/admin/people")
        await browser.send(subject="ann")
        await browser.post(
            re.findall(r'<form class="card" method="post" action="([^"]*)"', browser.text)[0].replace("&amp;", "&"),
            browser.fields() | {"query": "parrots"},
        )
        assert "Keeps two parrots" in browser.words
        assert "Works at a bakery" not in browser.words
        assert browser.fields()["query"] == "parrots"
        sealed = browser.page.url.params["view"]
    assert sealed
    assert not any(sealed in query for query in server.queries)

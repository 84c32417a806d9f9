"""The admin page over fakes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from fastapi import FastAPI
from testkit.pages import Gate, Web

from discreet.api.admin import make_admin_router
from discreet.api.pages import login
from discreet.api.services import Services
from discreet.redaction import Redactor
from discreet.settings import Settings
from discreet.testing import InMemoryConversationLog, InMemoryMemories, InMemorySettingsStore, InMemoryShortTermStore


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(login, "PAUSE_SECONDS", 0)


@pytest.fixture
def world():
    gate, store, memories = Gate(), InMemorySettingsStore(), InMemoryMemories()
    services = Services(
        memories=memories,
        log=InMemoryConversationLog(),
        short_term=InMemoryShortTermStore(),
        memory_settings=store,
        authenticator=gate,
        redactor=Redactor(),
        settings=Settings(),
    )
    app = FastAPI()
    app.include_router(make_admin_router(services))
    return SimpleNamespace(gate=gate, store=store, memories=memories, services=services, app=app)


@pytest.fixture
async def web(world):
    browser = Web(world.app, world=world)
    async with browser.http:
        yield browser


@pytest.fixture
async def admin(world, web):
    """A browser that is signed in."""
    page = await web.sign_in(world.gate.boss)
    assert page.status_code == 200
    return web

"""What signing out ends, where several processes serve the pages."""

from __future__ import annotations

import secrets
from dataclasses import replace

import pytest
from fastapi import FastAPI
from testkit.pages import Web

from discreet.api.admin import make_admin_router
from discreet.errors import ShortTermError
from discreet.testing import InMemoryShortTermStore


class Unreachable(InMemoryShortTermStore):
    """A store that is down."""

    async def recent_rounds(self, user_id, thread_id, *, limit=6):
        raise ShortTermError

    async def append_round(self, user_id, thread_id, said):
        raise ShortTermError


@pytest.fixture
def processes(world):
    """Return what makes browsers of one person at two processes over one store: they share the cookies."""

    def processes(short_term):
        services = replace(world.services, session_key=secrets.token_bytes(32), short_term=short_term)
        webs = []
        for _ in range(2):
            app = FastAPI()
            app.include_router(make_admin_router(services))
            webs.append(Web(app, world=world))
        return webs

    return processes


async def test_who_signs_out_at_one_process_is_out_at_all(world, processes):
    here, there = processes(InMemoryShortTermStore())
    await here.sign_in(world.gate.boss)
    there.http.cookies.update(here.http.cookies)
    assert "<h1>Settings</h1>" in (await there.get("/memory/admin/settings")).text
    await here.post("/memory/admin/logout", {"form_token": here.fields()["form_token"]})
    assert "<h1>Sign in</h1>" in (await there.get("/memory/admin/settings")).text


async def test_without_the_store_each_process_knows_its_own(world, processes):
    here, there = processes(Unreachable())
    await here.sign_in(world.gate.boss)
    cookies = dict(here.http.cookies)
    there.http.cookies.update(cookies)
    await here.post("/memory/admin/logout", {"form_token": here.fields()["form_token"]})
    here.http.cookies.update(cookies)
    assert "<h1>Sign in</h1>" in (await here.get("/memory/admin/settings")).text
    assert "<h1>Settings</h1>" in (await there.get("/memory/admin/settings")).text

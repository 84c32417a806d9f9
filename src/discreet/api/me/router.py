"""The pages of a user's own memories under /memory/me, as one router."""

from __future__ import annotations

import secrets

from fastapi import APIRouter

from discreet.api.me.area import AREA
from discreet.api.me.leaving import Leaving
from discreet.api.me.my_memories import MyMemories
from discreet.api.pages import LoginPages, Routes, Site
from discreet.api.pages.sessions import KEY_BYTES
from discreet.api.services import Services


def make_me_router(services: Services) -> APIRouter:
    """Return the routes; none without a database. None of them is in the OpenAPI.

    Raises:
        ConfigurationError: The `session_key` of `services` is too short.
    """
    if services.storage is None:
        return APIRouter()
    site = Site(AREA, services, services.session_key or secrets.token_bytes(KEY_BYTES))
    routes = Routes(site, LoginPages(site, services))
    memories = MyMemories(site, services)
    one = "/memories/{entry_id}"
    routes.add("/memories", memories.show)
    routes.add("/memories", memories.find, "POST")
    routes.add(f"{one}/correct", memories.edit)
    routes.add(f"{one}/correct", memories.save, "POST")
    leaving = Leaving(site, services, memories)
    routes.add(f"{one}/forget", leaving.ask_one)
    routes.add(f"{one}/forget", leaving.forget_one, "POST")
    routes.add("/forget", leaving.ask)
    routes.add("/forget", leaving.forget, "POST")
    routes.add("/receipts/{erasure_key}", leaving.receipt)
    routes.add("/take-away", leaving.take_away)
    routes.add("/export", leaving.export)
    return routes.router

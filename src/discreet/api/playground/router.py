"""The playground under /memory/playground, as one router. Only servers that people try things out with have it."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

from fastapi import APIRouter

from discreet.api.pages import Area, Routes, Site
from discreet.api.pages.sessions import KEY_BYTES
from discreet.api.playground.pages import PlaygroundPages
from discreet.api.playground.playing import Playground
from discreet.api.playground.words import LANGUAGES, translate
from discreet.api.services import Services

PREFIX: Final = "/memory/playground"
FOLDER: Final = Path(__file__).parent


def make_playground_router(services: Services, playground: Playground) -> APIRouter:
    """Return the routes of the playground, none of which is in the OpenAPI.

    They answer browsers on this machine alone, each by a session of its own, whose key nobody has but this process.
    """
    area = Area(
        name="playground",
        prefix=PREFIX,
        home="",
        title="playground",
        footer="Only this machine is served, and nothing of what you really wrote is on its disk.",
        folder=FOLDER,
        menu=(),
        signs_in=False,
        languages=tuple(LANGUAGES),
        translate=translate,
    )
    site = Site(area, services, secrets.token_bytes(KEY_BYTES))
    pages = PlaygroundPages(site, playground, services)
    routes = Routes(site)
    for path, page, method in (
        ("", pages.show, "GET"),
        ("/", pages.show, "GET"),
        ("/turn", pages.follow, "GET"),
        ("/turn", pages.say, "POST"),
        ("/person", pages.be, "POST"),
        ("/language", pages.speak, "POST"),
        ("/conversation", pages.begin, "POST"),
    ):
        routes.add(path, page, method, public=True)
    return routes.router

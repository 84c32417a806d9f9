"""What `discreet demo --web` runs: the playground by itself, over an embedded database of its own. Wiring only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import RedirectResponse

from discreet.access.authenticator import default_authenticator
from discreet.api.app import NO_TELEMETRY, include
from discreet.api.playground import Playground, make_playground_router
from discreet.api.playground.router import PREFIX
from discreet.api.services import Services
from discreet.api.warming import warm
from discreet.graph import drain
from discreet.redaction.configured import default_redactor
from discreet.redaction.logs import redact_logs
from discreet.settings import embedded_only, load_settings
from discreet.storage import open_storage


@asynccontextmanager
async def open_playground(app: FastAPI) -> AsyncIterator[None]:
    """Hold the storage of the demonstration open while the server runs. Its first turn finds all that it needs loaded."""
    settings, redactor = embedded_only(load_settings()), default_redactor()
    redact_logs(redactor)
    async with open_storage(settings=settings) as storage:
        services = Services(
            memories=storage.memories,
            log=storage.log,
            short_term=storage.short_term,
            memory_settings=storage.memory_settings,
            authenticator=default_authenticator(),
            redactor=redactor,
            settings=settings,
        )
        include(app, [make_playground_router(services, Playground(lambda: storage, settings))])
        await asyncio.to_thread(warm, redactor)
        yield
        await drain()


app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=open_playground, telemetry=NO_TELEMETRY)


@app.get("/", include_in_schema=False)
async def home() -> RedirectResponse:
    """Lead to the page."""
    return RedirectResponse(PREFIX, 303)

"""What langgraph.json names: the application in front of the LangGraph server, and its auth handlers. Wiring only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI

from discreet.access.authenticator import default_authenticator
from discreet.api.actors import Denials
from discreet.api.app import make_app
from discreet.api.auth import ClosedPaths, make_auth
from discreet.api.ingress import Ingress
from discreet.api.server_rows import ServerRows
from discreet.api.services import Services
from discreet.api.studio import lets_studio_in
from discreet.api.tracing import require_hidden_text
from discreet.api.warming import warm
from discreet.redaction.configured import default_redactor
from discreet.redaction.logs import redact_logs
from discreet.rights.erasure import Erasures
from discreet.settings import load_settings
from discreet.storage.maintenance import PERIOD_SECONDS, maintenance
from discreet.storage.shared import process_storage
from discreet.worker import worker_beside


@asynccontextmanager
async def _open_storage(_app: FastAPI) -> AsyncIterator[None]:
    """Hold the storage open while the server runs, and load what its first turn needs.

    Erasures that were broken off are gone on with, and a worker runs if the settings say so.
    """
    async with process_storage.lease() as storage, AsyncExitStack() as beside:
        warming = asyncio.create_task(asyncio.to_thread(warm, redactor))
        erasures = Erasures(storage, settings=settings, elsewhere=[ServerRows()])
        await beside.enter_async_context(maintenance({"erasures": erasures.resume}, delay=PERIOD_SECONDS))
        if settings.worker:
            await beside.enter_async_context(worker_beside(storage, settings))
        yield
        await warming


settings = load_settings()
authenticator = default_authenticator()
denials = Denials(process_storage.audit)
redactor = default_redactor()
require_hidden_text(settings, redactor)
redact_logs(redactor)  # the server has configured logging by now; libraries and nodes log what they work on

app = make_app(
    Services(
        memories=process_storage.memories,
        log=process_storage.log,
        short_term=process_storage.short_term,
        memory_settings=process_storage.memory_settings,
        background=process_storage.background,
        storage=lambda: process_storage.current,
        delegations=process_storage.delegations,
        health=process_storage.health,
        denials=denials,
        authenticator=authenticator,
        redactor=redactor,
        settings=settings,
        restarting=lambda: process_storage.is_restarting,
        session_key=authenticator.key_for("admin session"),
    ),
    lifespan=_open_storage,
)
app.add_middleware(
    Ingress,
    authenticator=authenticator,
    redactor=redactor,
    vault=process_storage.vault,
    denials=denials,
    restore=settings.restore_replies,
    max_body_bytes=settings.max_body_bytes,
    studio=lets_studio_in(),
)
app.add_middleware(ClosedPaths)
auth = make_auth(authenticator, denials=denials)

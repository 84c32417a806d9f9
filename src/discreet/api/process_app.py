"""The application over the storage and the settings of this process, as every server of it has it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from fastapi import FastAPI

from discreet.access.authenticator import Authenticator, default_authenticator
from discreet.api.actors import Denials
from discreet.api.app import include, make_app
from discreet.api.cross_origin import CrossOrigin
from discreet.api.erasing import erasures_of
from discreet.api.health import HealthChecks
from discreet.api.ingress import Ingress
from discreet.api.readiness import Readiness
from discreet.api.services import Services
from discreet.api.stored_messages import stored_messages
from discreet.api.thread_deletes import delete_one_at_a_time
from discreet.api.tracing import require_hidden_text
from discreet.api.warming import FirstAnswer, warm_later
from discreet.graph.deliveries import Deliveries
from discreet.metrics_server import check_metrics_port, metrics_port
from discreet.otel import exported_spans
from discreet.ports import TextRedactor
from discreet.quick_start import started
from discreet.redaction.configured import default_redactor
from discreet.redaction.held_logs import HeldLogs
from discreet.redaction.logged.formats import log_in
from discreet.redaction.logs import redact_logs
from discreet.rights.erasure import Elsewhere
from discreet.settings import Settings, load_settings
from discreet.storage.maintenance import PERIOD_SECONDS, maintenance
from discreet.storage.shared import process_storage
from discreet.worker import worker_beside


@dataclass(frozen=True, kw_only=True)
class Process:
    """What the parts of one process share."""

    settings: Settings
    authenticator: Authenticator
    redactor: TextRedactor
    denials: Denials
    logs: HeldLogs | None = None
    """Lines that wait until they can be redacted."""


def prepare_process(*, hold_logs: bool = False) -> Process:
    """Read the settings, and have logs and traces redacted from here on. To be called once logging is configured.

    With `hold_logs` lines come once the application has started, which then need not load the recognisers before.

    Raises:
        ConfigurationError: A setting can't be used, or the port for metrics is taken.
    """
    settings, redactor = load_settings(), default_redactor()
    check_metrics_port(settings)  # it is opened behind the database, seconds later
    log_in(settings.log_format)
    require_hidden_text(settings, redactor)
    redacting = partial(redact_logs, redactor)  # libraries and nodes log what they work on
    logs = HeldLogs(redacting) if hold_logs else None
    if logs is None:
        redacting()
    denials = Denials(process_storage.audit)
    return Process(
        settings=settings, authenticator=default_authenticator(), redactor=redactor, denials=denials, logs=logs
    )


def services_of(process: Process, *, elsewhere: Sequence[Elsewhere] = ()) -> Services:
    """Return the services over the storage of this process, which whoever runs the application holds open."""
    return Services(
        memories=process_storage.memories,
        log=process_storage.log,
        short_term=process_storage.short_term,
        memory_settings=process_storage.memory_settings,
        background=process_storage.background,
        storage=lambda: process_storage.current,
        delegations=process_storage.delegations,
        health=process_storage.health,
        denials=process.denials,
        authenticator=process.authenticator,
        redactor=process.redactor,
        settings=process.settings,
        restarting=lambda: process_storage.is_restarting,
        vault=process_storage.vault,
        waiting=process_storage.ages.read,
        session_key=process.authenticator.key_for("admin session"),
        elsewhere=elsewhere,
    )


def make_process_app(
    process: Process, *, studio: bool = False, documented: bool = False, elsewhere: Sequence[Elsewhere] = ()
) -> FastAPI:
    """Return the application behind its ingress. Its lifespan holds the storage open.

    Args:
        process: As `prepare_process` returns it.
        studio: Whether the server lets in who says to be LangGraph Studio. One that does has the playground too, if the settings say so.
        documented: Whether it has /openapi.json and /docs of its own. A LangGraph server has them for all of its routes.
        elsewhere: Places beside the database that have something of users.
    """
    services, answered = services_of(process, elsewhere=elsewhere), asyncio.Event()

    @asynccontextmanager
    async def open_storage(_app: FastAPI) -> AsyncIterator[None]:
        """Hold the storage open while the server runs, and load what its first turn needs.

        Erasures that were broken off are gone on with, and a worker runs if the settings say so.
        """
        async with process_storage.lease() as storage, AsyncExitStack() as beside:
            beside.enter_context(metrics_port(process.settings))
            beside.enter_context(exported_spans(process.settings))
            erasures = erasures_of(services)
            await beside.enter_async_context(maintenance({"erasures": erasures.resume}, delay=PERIOD_SECONDS))
            if process.settings.worker:
                await beside.enter_async_context(worker_beside(storage, process.settings))
            delete_one_at_a_time()
            started()
            warming = asyncio.create_task(warm_later(answered, process.redactor, process.logs))
            yield
            await warming

    app = make_app(services, lifespan=open_storage, documented=documented)
    if studio and process.settings.playground:
        from discreet.api.playground import Playground, make_playground_router  # no other server has it

        playground = Playground(lambda: process_storage.current, process.settings)
        include(app, [make_playground_router(services, playground)])
    app.add_middleware(
        Ingress,
        authenticator=process.authenticator,
        redactor=process.redactor,
        vault=process_storage.vault,
        denials=process.denials,
        deliveries=Deliveries(process_storage.short_term),
        dedup_seconds=process.settings.dedup_seconds,
        stored=stored_messages,
        restore=process.settings.restore_replies,
        max_body_bytes=process.settings.max_body_bytes,
        studio=studio,
    )
    app.add_middleware(CrossOrigin)
    app.add_middleware(Readiness, is_ready=HealthChecks(services).is_ready)
    app.add_middleware(FirstAnswer, answered=answered)
    return app

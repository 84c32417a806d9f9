"""What `discreet mcp --http` runs: the endpoint by itself. Wiring only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from discreet.api.mcp.endpoint import McpEndpoint
from discreet.api.process_app import prepare_process, services_of
from discreet.api.request_log import log_requests
from discreet.mcp.server import process_tools
from discreet.metrics_server import metrics_port
from discreet.otel import exported_spans
from discreet.redaction.logged.formats import log_to_stderr
from discreet.settings import load_settings
from discreet.storage.shared import process_storage

log_to_stderr(load_settings().log_format)
process = prepare_process()
endpoint = McpEndpoint(services_of(process), process_tools(process.settings, process.redactor))


async def ok(_request: Request) -> JSONResponse:
    """Tell anybody that this process takes requests."""
    return JSONResponse({"ok": True})


@asynccontextmanager
async def lifespan(_app: Starlette) -> AsyncIterator[None]:
    """Hold the storage open while the server runs."""
    with metrics_port(process.settings), exported_spans(process.settings):
        async with process_storage.lease(), endpoint.running():
            yield


app = Starlette(routes=[Route("/mcp", endpoint), Route("/ok", ok)], lifespan=lifespan)
log_requests(app)

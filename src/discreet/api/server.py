"""What langgraph.json names: the application in front of the LangGraph server, and its auth handlers. Wiring only."""

from __future__ import annotations

from discreet.api.auth import ClosedPaths, make_auth
from discreet.api.process_app import make_process_app, prepare_process
from discreet.api.request_log import log_requests
from discreet.api.server_rows import SERVER
from discreet.api.stored_openapi import stored_openapi
from discreet.api.studio import lets_studio_in

process = prepare_process(hold_logs=True)
app = make_process_app(process, studio=lets_studio_in())
app.add_middleware(ClosedPaths)
log_requests(app, server=SERVER)
app.openapi = stored_openapi  # type: ignore[method-assign]  # as FastAPI extends it: the attribute is made anew with every route that is added
auth = make_auth(process.authenticator, denials=process.denials)
